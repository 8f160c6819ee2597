"""The examples end with success: they check their own results."""
import os
import subprocess
import sys

import pytest

EXAMPLES = os.path.join(os.path.dirname(__file__), "..", "..", "..", "bindings", "python",
                        "examples")
WORDS = {"does_not_fit.py": ("4", "equal to the bit"), "char_gpt.py": ("80", "tensor that"),
         "digits.py": ("50", "new digits"), "shapes.py": ("25", "of 48.00 MiB"),
         "lengths.py": ("120", "*")}


@pytest.mark.parametrize("name", WORDS)
def test_examples(name):
    steps, words = WORDS[name]
    done = subprocess.run([sys.executable, os.path.join(EXAMPLES, name), steps],
                          capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert words in done.stdout
