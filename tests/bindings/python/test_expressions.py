"""Expressions as programs write them (expressions.txt, one a line; what stands before the last
semicolon is run first), run by both libraries: the same values, shapes and texts."""
import math
import os
import warnings

import numpy
import pytest

import cebus

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")

with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "expressions.txt"),
          encoding="utf-8") as source:
    LINES = source.read().splitlines()


def plain(value):
    """Without the library that it is of."""
    if hasattr(value, "detach"):
        return ["tensor", value.detach().tolist()]
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, numpy.ndarray):
        return value.tolist()
    if isinstance(value, numpy.generic):
        return value.item()
    return value if isinstance(value, float) else str(value).replace("cebus", "torch")


def alike(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-5) \
            or (math.isnan(a) and math.isnan(b))
    return a == b


def value_of(line, lib):
    names = {"torch": lib, "np": numpy, "math": math}
    before, _, last = line.rpartition("; ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(before, names)
        return plain(eval(last, names))


@pytest.mark.parametrize("line", LINES)
def test_expression(line):
    ours, theirs = value_of(line, cebus), value_of(line, torch)
    assert alike(ours, theirs), f"{ours} instead of {theirs}"
