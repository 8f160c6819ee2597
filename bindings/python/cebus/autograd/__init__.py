"""Gradients as functions, and functions with gradients of their own."""
from .. import _core
from ..grad_mode import (  # noqa: F401
    enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled)
from . import function, functional  # noqa: F401
from .anomaly import detect_anomaly, set_detect_anomaly  # noqa: F401
from .check import GradcheckError, gradcheck  # noqa: F401
from .function import Function  # noqa: F401


def _tuple(x):
    return (x,) if isinstance(x, _core.Tensor) else tuple(x)


def _refuse_graph(create_graph):
    if create_graph:
        raise _core.UnsupportedError("gradients of gradients (create_graph=True) are not recorded: "
                                     "write the gradient out as a function of tensors, such as "
                                     "2 * x for x ** 2, and call backward on that")


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    """Accumulates the gradients of several results into the leaves, or into `inputs` alone."""
    _refuse_graph(create_graph)
    tensors = _tuple(tensors)
    seeds = (None,) * len(tensors) if grad_tensors is None else _seeds(grad_tensors)
    _core._gradients(tensors, seeds, None if inputs is None else _tuple(inputs),
                     bool(retain_graph), False)


def _seeds(given):
    return (given,) if isinstance(given, _core.Tensor) else tuple(given)


def _is_expanded(x):
    """A sum's gradient is one number: the program may want to write to what it gets."""
    return any(step == 0 and length > 1 for step, length in zip(x.stride(), x.shape))


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False,
         only_inputs=True, allow_unused=None, is_grads_batched=False, materialize_grads=False):
    """d(outputs)/d(inputs), a tuple; no leaf's `grad` changes. Inputs need not be leaves."""
    _refuse_graph(create_graph)
    outputs, inputs = _tuple(outputs), _tuple(inputs)
    for x in inputs:
        if not x.requires_grad:
            raise _core.Error("One of the differentiated Tensors does not require grad")
    seeds = (None,) * len(outputs) if grad_outputs is None else _seeds(grad_outputs)
    found = _core._gradients(outputs, seeds, inputs, bool(retain_graph), True)
    found = tuple(each.clone() if each is not None and _is_expanded(each) else each
                  for each in found)
    if materialize_grads:
        return tuple(each if each is not None else _core.zeros(x.shape, dtype=x.dtype,
                                                               device=x.device)
                     for each, x in zip(found, inputs))
    if not allow_unused and any(each is None for each in found):
        raise _core.Error("One of the differentiated Tensors appears to not have been used in the "
                          "graph. Set allow_unused=True if this is the desired behavior.")
    return found


def Variable(data, requires_grad=False, volatile=False):
    """The tensor itself: PyTorch's former name for one that is differentiated."""
    out = data.detach() if data.requires_grad and not requires_grad else data
    return out.requires_grad_() if requires_grad and not out.requires_grad else out


def attach():
    """Nothing joins Tensor from here."""
