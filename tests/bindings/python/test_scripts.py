"""Programs in the style of PyTorch's tutorials, with nothing but their imports changed."""
import glob
import os
import subprocess
import sys

import pytest

SCRIPTS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "scripts")


@pytest.mark.parametrize("name", sorted(map(os.path.basename,
                                            glob.glob(os.path.join(SCRIPTS, "*.py")))))
def test_script(name):
    done = subprocess.run([sys.executable, "-W", "error::DeprecationWarning",
                           os.path.join(SCRIPTS, name)], capture_output=True, text=True,
                          timeout=250, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
