"""Hooks of modules that see gradients: identities around forward, whose backward calls them."""
from .._core import Tensor, is_grad_enabled
from ..autograd.function import Function


class _Gate(Function):
    """The tensors as they are; `seen(grads)` may answer others for their gradients."""

    @staticmethod
    def forward(ctx, seen, *tensors):
        ctx.seen = seen
        ctx.set_materialize_grads(False)
        return tuple(x.view_as(x) for x in tensors)

    @staticmethod
    def backward(ctx, *grads):
        changed = ctx.seen(grads)
        return (None, *(grads if changed is None else changed))


def _through(values, seen):
    """(values with their differentiable tensors behind a gate, the positions of these)."""
    at = [i for i, x in enumerate(values) if isinstance(x, Tensor) and x.requires_grad]
    if not at:
        return values, at
    passed = _Gate.apply(seen, *[values[i] for i in at])
    out = list(values)
    for i, x in zip(at, passed):
        out[i] = x
    return tuple(out), at


def _spread(grads, at, count):
    """Gradients of the positions `at` among `count`; None elsewhere."""
    out = [None] * count
    for i, grad in zip(at, grads):
        out[i] = grad
    return tuple(out)


class Gates:
    """One call of a module with hooks on its gradients."""

    def __init__(self, module, pre_hooks, hooks):
        self.module, self.pre_hooks, self.hooks = module, pre_hooks, hooks
        self.inputs, self.grad_out = 0, ()

    def enter(self, inputs):
        if not is_grad_enabled():
            return inputs
        self.inputs = len(inputs)
        passed, self.at = _through(inputs, self.left)
        return passed

    def leave(self, result):
        if not is_grad_enabled():
            return result
        several = isinstance(result, (tuple, list))
        values = tuple(result) if several else (result,)
        passed, at = _through(values, lambda grads: self.arrived(grads, at, len(values)))
        return passed if several else passed[0]

    def arrived(self, grads, at, count):
        """Backward begins in the module."""
        grad_out = _spread(grads, at, count)
        for hook in list(self.pre_hooks.values()):
            changed = hook(self.module, grad_out)
            if changed is not None:
                grad_out = changed if isinstance(changed, tuple) else (changed,)
        self.grad_out = grad_out
        if not self.at:  # no gradient leaves through the inputs: there is nothing to wait for
            self.call((None,) * self.inputs)
        return [grad_out[i] for i in at]

    def left(self, grads):
        """Backward leaves the module."""
        grad_in = self.call(_spread(grads, self.at, self.inputs))
        return [grad_in[i] for i in self.at]

    def call(self, grad_in):
        for hook in list(self.hooks.values()):
            changed = hook(self.module, grad_in, self.grad_out)
            if changed is not None:
                grad_in = changed if isinstance(changed, tuple) else (changed,)
        return grad_in
