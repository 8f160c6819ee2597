#!/usr/bin/env python3
"""CUDA calls that allocate on the device or make the host wait stand only where they may.

usage: check_cuda_calls.py ROOT
       check_cuda_calls.py --self-test

Kernels allocate nothing and wait for nothing. Memory is taken when a device is opened (start.c,
staging.c, slab.c); the host waits for events of its own streams alone, in streams.c, which counts
it, and once to measure the link (start.c).
"""
import os
import re
import sys

from tree import read, report, sources

FOLDER = os.path.join("eager", "device", "cuda")
# Call -> files that may make it.
CALLS = {
    "cudaMalloc": ("staging.c",),
    "cudaFree": ("staging.c",),
    "cudaHostAlloc": ("start.c", "staging.c"),
    "cudaFreeHost": ("start.c", "staging.c"),
    "cudaEventSynchronize": ("start.c", "streams.c"),
    "cudaEventCreate": (),
    "cudaEventCreateWithFlags": ("costs.c", "stalls.c", "streams.c"),
    "cudaMemGetInfo": ("device_cuda.c", "start.c"),
    "cudaLaunchHostFunc": ("device_cuda.c",),
}
# Never: implicit allocation, implicit waiting, waiting for everything.
NEVER = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaThreadSynchronize", "cudaMemcpy",
         "cudaMemcpy2D", "cudaMemset", "cudaMallocAsync", "cudaFreeAsync", "cudaMallocManaged",
         "cudaMallocPitch", "cudaMalloc3D", "cudaMallocHost", "cudaHostRegister",
         "cudaHostUnregister", "cudaDeviceReset", "cudaStreamAddCallback",
         "cuCtxSynchronize", "cuStreamSynchronize", "cuMemAlloc")
NAMES = tuple(CALLS) + NEVER
CALL = re.compile(r"\b(" + "|".join(NAMES) + r")(?:_v\d+)?\s*\(")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def blank(match):
    """A comment's lines, empty."""
    return "\n" * match.group(0).count("\n")


def complaints(path, text):
    for match in CALL.finditer(COMMENT.sub(blank, text)):
        name = match.group(1)
        if os.path.basename(path) not in CALLS.get(name, ()):
            line = COMMENT.sub(blank, text).count("\n", 0, match.start()) + 1
            where = " or ".join(CALLS.get(name, ())) or "nowhere"
            yield f"{path}:{line}: {name} belongs {where}"


def self_test():
    """The checker finds what it is there for, and nothing else."""
    text = "/* cudaMalloc(x) */\nint f(void) { return cudaMalloc (&p, 1); }\n"
    wrong = list(complaints(os.path.join(FOLDER, "unary.cu"), text))
    right = list(complaints(os.path.join(FOLDER, "staging.c"), text))
    waits = list(complaints(os.path.join(FOLDER, "streams.c"), "cudaStreamSynchronize(s);\n"))
    other = list(complaints(os.path.join(FOLDER, "a.c"), "cudaMemcpyAsync(a, b, c, d, e);\n"))
    good = (len(wrong) == 1 and ":2: cudaMalloc" in wrong[0] and not right and len(waits) == 1
            and not other)
    report([] if good else ["check_cuda_calls.py: the self-test fails"])


def main(root):
    if root == "--self-test":
        self_test()
    problems = []
    for path in sources(root, (FOLDER,), (".c", ".h", ".cu", ".cuh")):
        problems += complaints(path, read(root, path))
    report(problems)


if __name__ == "__main__":
    main(sys.argv[1])
