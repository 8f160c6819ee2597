"""Gradients as functions: cebus.autograd.backward and cebus.autograd.grad."""
from . import _core
from .grad_mode import enable_grad, no_grad, set_grad_enabled  # noqa: F401


def _tuple(x):
    return (x,) if isinstance(x, _core.Tensor) else tuple(x)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False):
    """Accumulates the gradients of several results into the leaves."""
    tensors = _tuple(tensors)
    seeds = (None,) * len(tensors) if grad_tensors is None else _tuple(grad_tensors)
    for i, (x, seed) in enumerate(zip(tensors, seeds)):
        x.backward(seed, retain_graph=retain_graph or i + 1 < len(tensors),
                   create_graph=create_graph)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False,
         allow_unused=False):
    """d(outputs)/d(inputs) for leaves `inputs`; no leaf's `grad` changes."""
    inputs = _tuple(inputs)
    for x in inputs:
        if not x.requires_grad or not x.is_leaf:
            raise _core.Error("autograd.grad: every input must be a leaf that requires a gradient")
    before = [x.grad for x in inputs]
    for x in inputs:
        x.grad = None
    try:
        backward(outputs, grad_outputs, retain_graph, create_graph)
        found = tuple(x.grad for x in inputs)
    finally:
        for x, old in zip(inputs, before):
            x.grad = old
    if not allow_unused and any(each is None for each in found):
        raise _core.Error("One of the differentiated Tensors appears to not have been used in the "
                          "graph. Set allow_unused=True if this is the desired behavior.")
    return found


def attach():
    """Nothing yet joins Tensor from here."""
