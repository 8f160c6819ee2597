"""The wheel is built as users build it, installed where nothing else is, and works."""
import glob
import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.realpath(__file__))
MISSING = [each for each in ("mesonpy", "pip", "venv") if importlib.util.find_spec(each) is None]


@pytest.mark.skipif("CEBUS_TEST_ALL" not in os.environ,
                    reason="builds all of cebus again: ./dev wheel does it, and ./dev test --all")
@pytest.mark.skipif(bool(MISSING) or shutil.which("patchelf") is None,
                    reason=f"missing: {', '.join(MISSING) or 'patchelf'}")
def test_a_wheel_installs_and_works(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation",
                    "--no-deps", "--no-index", "-w", str(tmp_path),
                    os.path.join(HERE, "..", "..", "..", "bindings", "python")],
                   check=True, env=environment)
    (wheel,) = glob.glob(str(tmp_path / "*.whl"))
    subprocess.run([sys.executable, os.path.join(HERE, "check_wheel.py"), wheel], check=True)
