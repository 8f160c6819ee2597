#!/usr/bin/env python3
"""What one op costs from Python: a 1-element add by this package, by other ways to bind the C
library (pybind11, cffi, where they are installed) and by PyTorch, in turns in one run.

usage: PYTHONPATH=BUILD/bindings/python op_cost.py BUILD

Prints the least time of 40 rounds, and the ratio to PyTorch's.
"""
import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
import time

import cebus

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
INCLUDES = [os.path.join(ROOT, each, "include") for each in ("eager", "evict", "layout")]
INTERFACE = """typedef struct cebus_runtime cebus_runtime;
    typedef struct cebus_tensor cebus_tensor;
    int cebus_runtime_create(void *, cebus_runtime **);
    int cebus_ones(cebus_runtime *, int, int, const int64_t *, cebus_tensor **);
    int cebus_add(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **);
    void cebus_tensor_release(cebus_tensor *);"""


def with_pybind11(build, folder):
    """(x, y) of a module that is compiled here."""
    path = os.path.join(folder, "candidate.so")
    includes = ["-I" + each for each in [sysconfig.get_paths()["include"], *INCLUDES]]
    done = subprocess.run(
        ["c++", "-O2", "-shared", "-fPIC", "-std=c++17", os.path.join(HERE, "candidate.cpp"),
         *includes, "-o", path, "-L" + build, "-l:libcebus.so.1", "-Wl,-rpath," + build],
        capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImportError("it does not compile (pybind11-dev?)")
    spec = importlib.util.spec_from_file_location("candidate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.one(), module.one()


def with_cffi(build, folder):
    """The same with cffi's compiled interface; the class around it is Python."""
    import cffi
    maker = cffi.FFI()
    maker.cdef(INTERFACE)
    maker.set_source("_candidate", "#include <cebus/cebus.h>", include_dirs=INCLUDES,
                     library_dirs=[build], extra_compile_args=["-w"],
                     extra_link_args=["-l:libcebus.so.1", "-Wl,-rpath," + build])
    maker.compile(tmpdir=folder)
    sys.path.insert(0, folder)
    from _candidate import ffi, lib
    made = ffi.new("cebus_runtime **")
    lib.cebus_runtime_create(ffi.NULL, made)
    rt = made[0]

    class Tensor:
        __slots__ = ("handle",)

        def __init__(self, handle):
            self.handle = handle

        def __add__(self, other):
            out = ffi.new("cebus_tensor **")
            if lib.cebus_add(rt, self.handle, other.handle, out):
                raise RuntimeError
            return Tensor(out[0])

        def __del__(self):
            lib.cebus_tensor_release(self.handle)

    def one():
        out = ffi.new("cebus_tensor **")
        lib.cebus_ones(rt, 1, 1, [1], out)
        return Tensor(out[0])
    return one(), one()


def with_torch(build, folder):
    import torch
    torch.set_num_threads(1)
    return torch.ones(1), torch.ones(1)


def with_torch_grad(build, folder):
    import torch
    return torch.ones(1, requires_grad=True), torch.ones(1)


def microseconds(x, y, n=20000):
    start = time.perf_counter()
    for _ in range(n):
        x + y
    return (time.perf_counter() - start) / n * 1e6


def gathered(build, folder):
    """{name: (x, y)} of all that is there."""
    cases = {"cebus": (cebus.ones(1), cebus.ones(1)),
             "cebus, with gradient": (cebus.ones(1, requires_grad=True), cebus.ones(1))}
    others = {"bound by pybind11": with_pybind11, "bound by cffi": with_cffi, "PyTorch": with_torch,
              "PyTorch, with gradient": with_torch_grad}
    for name, make in others.items():
        try:
            cases[name] = make(build, folder)
        except ImportError as error:
            print(f"{name}: left out: {error}")
    return cases


def main(build):
    cebus.configure("cpu", threads=1)
    with tempfile.TemporaryDirectory() as folder:
        cases = gathered(os.path.abspath(build), folder)
        best = {name: float("inf") for name in cases}
        for _ in range(40):
            for name, (x, y) in cases.items():
                best[name] = min(best[name], microseconds(x, y))
    for name, least in best.items():
        peer = best.get("PyTorch, with gradient" if "gradient" in name else "PyTorch")
        print(f"{name:<24} {least:6.2f} us  " + (f"{least / peer:.2f}" if peer else ""))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
