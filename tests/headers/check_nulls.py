#!/usr/bin/env python3
"""No public function that returns a status crashes on a NULL: it refuses it, or does without.

usage: check_nulls.py ROOT LIBRARY

The functions are those that the public headers declare, so that new ones are called, too: with
nothing but NULLs and zeros, and then with a runtime, a tensor and zeroed memory, where each
pointer in turn is NULL. Each function runs in a process of its own. Prints TAP.
"""
import ctypes
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from tree import read, sources  # pylint: disable=wrong-import-position

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:.*\\\n)*.*", re.MULTILINE)
FUNCTION = re.compile(r"CEBUS_API\s+(?:CEBUS_MUST_CHECK\s+)?cebus_status\s+(\w+)\(([^;{]*?)\)\s*;")
OPAQUE = re.compile(r"typedef struct (\w+) \1;")
F32 = 1
ROOM = 1 << 16
# Zeros are good arguments of these: nothing to do, or defaults.
CONTENT = {"cebus_hint_push", "cebus_tensors_restore"}
# They know no last error, and answer in a result of their own.
SILENT = {"cebus_advise", "cebus_advice_check", "cebus_advice_time", "cebus_pack"}


class Error(ctypes.Structure):
    """The beginning of cebus_error."""
    _fields_ = [("status", ctypes.c_int)]


class Range(ctypes.Structure):
    """cebus_uniform_range, the only struct that is passed by value."""
    _fields_ = [("low", ctypes.c_double), ("high", ctypes.c_double)]


def declared(root):
    """(name, its parameters) of each function that returns a status, and the opaque types."""
    functions, opaque = [], set()
    for path in sources(root, ("layout/include", "evict/include", "eager/include"), (".h",)):
        text = DIRECTIVE.sub("", COMMENT.sub("", read(root, path)))
        opaque.update(OPAQUE.findall(text))
        for name, parameters in FUNCTION.findall(text):
            words = [" ".join(one.split()) for one in parameters.split(",")]
            functions.append((name, [word for word in words if word != "void"]))
    return functions, opaque


def number(parameter):
    if parameter.startswith("double"):
        return ctypes.c_double(0)
    return Range() if parameter.startswith("cebus_uniform_range") else ctypes.c_int64(0)


def is_pointer(parameter):
    return "*" in parameter


class Given:
    """Arguments that are there."""

    def __init__(self, library, opaque):
        self.opaque, self.kept = opaque, []
        self.runtime, self.tensor = ctypes.c_void_p(), ctypes.c_void_p()
        assert library.cebus_runtime_create(None, ctypes.byref(self.runtime)) == 0
        shape = (ctypes.c_int64 * 2)(2, 3)
        assert library.cebus_ones(self.runtime, F32, 2, shape, ctypes.byref(self.tensor)) == 0

    def argument(self, parameter):
        kind = re.sub(r"^const ", "", parameter).rsplit(" ", 1)
        if kind[0] == "cebus_runtime" and not kind[1].startswith("**"):
            return self.runtime
        if kind[0] == "cebus_tensor" and not kind[1].startswith("**"):
            return self.tensor
        if kind[0] in self.opaque and not kind[1].startswith("**"):
            return None
        self.kept.append(ctypes.create_string_buffer(ROOM))
        return self.kept[-1]


def run(library, name, parameters, opaque):
    """What is wrong, or None."""
    call = getattr(library, name)
    nothing = [None if is_pointer(each) else number(each) for each in parameters]
    status = call(*nothing)
    if any(map(is_pointer, parameters)) and name not in CONTENT:
        library.cebus_last_error.restype = ctypes.POINTER(Error)
        if status == 0:
            return "takes NULLs for arguments"
        if name not in SILENT and library.cebus_last_error().contents.status != status:
            return "refuses NULLs without a word"
    given = Given(library, opaque)
    for missing, parameter in enumerate(parameters):
        if is_pointer(parameter):
            call(*[number(each) if not is_pointer(each) else
                   None if i == missing else given.argument(each)
                   for i, each in enumerate(parameters)])
    return None


def apart(work):
    """Runs `work` in another process: what it says, or how it ended."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        problem = work()
        os.write(write_end, (problem or "").encode())
        os._exit(0)
    os.close(write_end)
    with open(read_end, encoding="utf-8") as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return said or (f"ends the program: {status}" if status != 0 else None)


def main(root, path):
    functions, opaque = declared(root)
    library = ctypes.CDLL(path)
    print(f"1..{len(functions)}")
    failures = 0
    for at, (name, parameters) in enumerate(functions, 1):
        problem = apart(lambda f=name, p=parameters: run(library, f, p, opaque))
        failures += problem is not None
        print(f"ok {at} - {name}" if problem is None else f"not ok {at} - {name}\n# {problem}")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
