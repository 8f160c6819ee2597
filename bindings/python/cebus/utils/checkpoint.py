"""Activations that are made again in the backward instead of being kept, as in PyTorch.

Where PyTorch runs a function a second time, cebus gives the values up that were made in it and
rebuilds those that are read, bit for bit, random numbers included. A budget does the same where
memory is short, and only there; this does it everywhere.
"""
import enum

from .._core import Tensor, is_grad_enabled
from ..hints import hint


class CheckpointPolicy(enum.Enum):
    """What may be wished for a value; `cebus.hint` takes these."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


def _keep(x):
    """Results are what the next function starts from: they stay."""
    if isinstance(x, Tensor):
        x.hint = None
    elif isinstance(x, dict):
        for each in x.values():
            _keep(each)
    elif isinstance(x, (tuple, list)):
        for each in x:
            _keep(each)


def checkpoint(function, *args, use_reentrant=None, preserve_rng_state=True, context_fn=None,
               determinism_check="default", debug=False, **kwargs):
    """function(*args, **kwargs), of which only the arguments and results are kept for backward.

    The options of PyTorch's are taken and change nothing: random numbers are always the same
    again, and nothing but recorded operations is run a second time.
    """
    if not is_grad_enabled():
        return function(*args, **kwargs)
    with hint("must_recompute"):
        result = function(*args, **kwargs)
    _keep(result)
    return result


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """The functions, or modules of a Sequential, one after the other, in `segments` pieces of which
    all but the last are checkpointed."""
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = max(len(functions) // segments, 1)

    def run(first, last):
        def piece(x):
            for each in functions[first:last]:
                x = each(x)
            return x
        return piece
    start = 0
    for _ in range(segments - 1):
        if start + size >= len(functions):
            break
        input = checkpoint(run(start, start + size), input, **kwargs)
        start += size
    return run(start, len(functions))(input)


__all__ = ["CheckpointPolicy", "checkpoint", "checkpoint_sequential"]
