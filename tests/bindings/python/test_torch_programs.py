"""Random programs (programs.py) run by both libraries line by line: the same values, shapes, leaves
and gradients after each. A program ends where PyTorch refuses a line."""
import os
import warnings

import numpy
import pytest

import cebus
from programs import Program

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")

PROGRAMS, LINES = (4000, 25) if "CEBUS_TEST_ALL" in os.environ else (400, 25)


def plain(x):
    """What there is to see of a tensor."""
    if x is None:
        return None
    seen = [tuple(x.shape), x.requires_grad, x.is_leaf, x.detach().numpy().copy()]
    if x.requires_grad and (x.is_leaf or x.retains_grad):
        seen.append(plain(x.grad))
    return seen


def alike(a, b):
    if isinstance(a, numpy.ndarray):
        return numpy.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(alike, a, b))
    return a == b


def first_difference(program):
    """None, or what is wrong after the last line of the program."""
    theirs, ours = {"torch": torch}, {"torch": cebus}
    for _ in range(LINES):
        line = program.next(theirs)
        try:
            exec(line, theirs)
            seen = {name: plain(x) for name, x in theirs.items() if name[0] == "v"}
        except (RuntimeError, IndexError, ValueError, AttributeError):
            return None
        try:
            exec(line, ours)
        except Exception as error:  # whatever it is, PyTorch had none
            return f"{type(error).__name__}: {error}"
        for name, expected in seen.items():
            if not alike(plain(ours[name]), expected):
                return f"{name} is {plain(ours[name])}, not {expected}"
    return None


@pytest.mark.parametrize("part", range(8))
def test_programs(part):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(part, PROGRAMS, 8):
            program = Program(seed)
            wrong = first_difference(program)
            assert wrong is None, "\n".join([f"program {seed}", *program.lines, wrong])
