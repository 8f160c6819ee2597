"""Tensors that a module owns."""
from .. import _core
from .._core import Tensor


class Parameter(Tensor):
    """A tensor that is learned: a leaf that collects a gradient, and is never given up."""

    def __new__(cls, data=None, requires_grad=True):
        out = Tensor.__new__(cls)
        _core._adopt(out, _core.empty(0) if data is None else data.detach())
        out.persist_()
        if requires_grad:
            out.requires_grad_()
        return out

    def __init__(self, data=None, requires_grad=True):
        """`data` keeps its bytes: the parameter is a view of it."""

    def __repr__(self):
        return "Parameter containing:\n" + Tensor.__repr__(self)


class Buffer(Tensor):
    """A tensor that is state but not learned: assigned to a module, it becomes its buffer."""

    def __new__(cls, data=None, *, persistent=True):
        out = Tensor.__new__(cls)
        _core._adopt(out, _core.empty(0) if data is None else data.detach())
        out.persistent = persistent
        return out

    def __init__(self, data=None, *, persistent=True):
        """`data` keeps its bytes; `persistent`: it is in the module's state_dict."""
