"""Tensors to and from other libraries, under PyTorch's older names."""
from .._core import from_dlpack  # noqa: F401


def to_dlpack(tensor):
    """A capsule over the same bytes, which stay pinned until its consumer is done."""
    return tensor.__dlpack__()


__all__ = ["from_dlpack", "to_dlpack"]
