"""Every function that PyTorch has, too, against PyTorch on the CPU: see sweep.py, sweep_cases.py. A
sample of the numbers of each case; CEBUS_TEST_ALL=1 takes twelve times as many."""
import inspect
import os

import pytest

import cebus
import sweep
from sweep_cases import CASES
from sweep_exempt import EXEMPT

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
torch.set_num_threads(1)

ROUNDS = 24 if "CEBUS_TEST_ALL" in os.environ else 2
KINDS = {"f": sweep.FLOATS, "s": ("float32",), "h": sweep.NARROW, "i": sweep.WHOLE,
         "b": ("bool",)}


def modules(lib):
    return {"torch": lib, "Tensor": lib.Tensor, "F": lib.nn.functional, "linalg": lib.linalg,
            "special": lib.special}


def functions(lib, where):
    owner = modules(lib)[where]
    names = (name for name in dir(owner) if not name.startswith("_"))
    return {name for name in names if callable(getattr(owner, name))
            and not inspect.isclass(getattr(owner, name))
            and not inspect.ismodule(getattr(owner, name))}


def case_of(where, name):
    """(case, whether the function writes into its first operand); None when there is none."""
    for key in (f"{where}.{name}", name):
        if key in CASES:
            return CASES[key], False
    if name.endswith("_"):
        for key in (f"{where}.{name[:-1]}", f"torch.{name[:-1]}", name[:-1]):
            if key in CASES:
                return CASES[key], True
    return None


def shared():
    """(module, name) of every function that both libraries have."""
    return sorted((where, name) for where in modules(cebus)
                  for name in functions(cebus, where) & functions(torch, where)
                  if name not in ("has_torch_function", "handle_torch_function"))


NAMED = [each for each in shared() if case_of(*each) is not None]


def test_every_function_has_a_case():
    missing = [f"{where}.{name}" for where, name in shared()
               if case_of(where, name) is None and name not in EXEMPT]
    assert not missing, "without an entry in sweep_cases.py: " + ", ".join(missing)


def test_every_case_has_a_function():
    """PyTorch gains and loses some from version to version."""
    known = {each for where in modules(cebus) for name in functions(cebus, where)
             for each in (name, f"{where}.{name}")}
    unused = [name for name in [*CASES, *EXEMPT] if name not in known]
    assert not unused, "cebus has none of that name: " + ", ".join(unused)


def caller(where, name, case, writes):
    """call(lib, *tensors)"""
    def call(lib, *tensors):
        function = getattr(modules(lib)[where], name)
        if not writes:
            return case.call(lib, function, *tensors) if case.lib else case.call(function,
                                                                                 *tensors)
        first = tensors[0].clone()
        done = case.call(function, first, *tensors[1:])
        return [first, done]
    return call


def was_removed(call, operands):
    return "is now removed" in str(sweep.refused(torch, call, operands, None, False))


def operands_of(case, draw, number):
    if case.large and number % 4 == 3:
        return [draw((3, 30011), *case.large)]
    return case.operands(draw)


@pytest.mark.parametrize("where,name", [pytest.param(*each, id=".".join(each)) for each in NAMED])
def test_function(where, name):
    case, writes = case_of(where, name)
    if writes and not case.in_place:
        pytest.skip("its call makes several results, so that there is nothing to write into")
    call = caller(where, name, case, writes)
    compared, gone = 0, False
    for letter in case.kinds:
        kinds = KINDS[letter]
        count = ROUNDS if letter in "fs" else max(ROUNDS // 2, 1)
        for number in range(count * len(kinds)):
            kind = kinds[number % len(kinds)]
            draw = sweep.Draw(f"{name} {letter}", number, kind)
            draw.layouts = ("plain",) if case.plain else draw.layouts
            operands = operands_of(case, draw, number)
            grads = case.grads and not writes and kind in sweep.FLOATS
            wrong = sweep.check(torch, call, operands, kind, grads, case.scale)
            compared += wrong != "refused"
            gone = gone or (wrong == "refused" and was_removed(call, operands))
            shapes = [(each.array.shape, each.kind, each.layout) for each in operands]
            if wrong not in (None, "refused"):
                pytest.fail(f"{where}.{name} of {shapes}, number {number}: {wrong}", pytrace=False)
    assert compared > 0 or writes or gone, "PyTorch refused every draw"
