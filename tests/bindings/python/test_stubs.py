"""The typed stub says what the extension has."""
import ast
import importlib.util
import inspect
import os
import subprocess
import sys

import pytest

import cebus
from cebus import _core

PACKAGE = os.path.dirname(os.path.realpath(cebus.__file__))
STUB = os.path.join(PACKAGE, "_core.pyi")
SCRIPT = os.path.join(PACKAGE, "..", "core", "stubs.py")


def names_of(body):
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id


def stub():
    with open(STUB, encoding="utf-8") as source:
        return ast.parse(source.read())


def test_the_stub_names_what_there_is():
    there = {name for name in dir(_core)
             if not name.startswith("__") and not inspect.ismodule(getattr(_core, name))}
    assert set(names_of(stub().body)) == there
    tensor = [node for node in stub().body if getattr(node, "name", "") == "Tensor"][0]
    said = set(names_of(tensor.body))
    assert said <= set(dir(cebus.Tensor))
    assert {name for name in vars(cebus.Tensor) if not name.startswith("_")} <= said
    assert os.path.exists(os.path.join(PACKAGE, "py.typed"))


def test_the_stub_is_what_the_script_writes():
    written = subprocess.run([sys.executable, SCRIPT], check=True, capture_output=True, text=True)
    with open(STUB, encoding="utf-8") as source:
        assert written.stdout == source.read(), "run core/stubs.py again"


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_takes_the_stub_and_programs_that_use_it(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("from cebus._core import Tensor, randn\n"
                       "x: Tensor = randn(2, 3).matmul(randn(3, 2)).relu()\n"
                       "n: int = x.numel()\n")
    found = subprocess.run([sys.executable, "-m", "mypy", str(program)], capture_output=True,
                           text=True, cwd=tmp_path)
    assert found.returncode == 0, found.stdout
    program.write_text("from cebus._core import randn\nn: int = randn(2)\n")
    found = subprocess.run([sys.executable, "-m", "mypy", str(program)], capture_output=True,
                           text=True, cwd=tmp_path)
    assert found.returncode == 1 and "Incompatible types" in found.stdout
