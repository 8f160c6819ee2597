"""Functions that compute their own gradients.

    class Exp(cebus.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            y, = ctx.saved_tensors
            return grad * y

    Exp.apply(x).sum().backward()

What is saved is saved as it is then, costs no memory while it is not read, and may be an input, an
output or anything else.
"""
from .. import _core
from .._core import Tensor
from ..grad_mode import no_grad


class FunctionCtx:
    """What forward leaves to backward; any attribute may be set on it, too."""

    needs_input_grad = ()
    saved_tensors = ()
    materialize_grads = True
    _to_save = ()
    _dirty = ()
    _constant = ()

    def save_for_backward(self, *tensors):
        """Keeps tensors (or None) for backward, which finds them in `saved_tensors`."""
        for x in tensors:
            if x is not None and not isinstance(x, Tensor):
                raise TypeError("save_for_backward can only save variables, but argument is of "
                                f"type {type(x).__name__}")
        self._to_save = tensors

    def mark_dirty(self, *tensors):
        """Says that forward wrote these inputs in place; they must be among what it returns."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Says that no gradient passes through these results."""
        self._constant = tensors

    def set_materialize_grads(self, value):
        """Whether backward gets zeros (the default) or None where there is no gradient."""
        self.materialize_grads = bool(value)

    # --- called by the graph ------------------------------------------------------------------

    def run_backward(self, saved, grads):
        """The gradients of the tensors among forward's arguments."""
        found = iter(saved)
        self.saved_tensors = tuple(next(found) if there else None for there in self._saved)
        try:
            answer = self._function.backward(self, *self._arriving(grads))
        finally:
            self.saved_tensors = ()
        return self._leaving(answer)

    def _arriving(self, grads):
        out = []
        for slot, (shape, dtype, device) in self._results:
            grad = None if slot is None else grads[slot]
            if grad is None and self.materialize_grads and dtype is not None:
                grad = _core.zeros(shape, dtype=dtype, device=device)
            out.append(grad)
        return out

    def _leaving(self, answer):
        name = self._function.__name__
        answer = answer if isinstance(answer, (tuple, list)) else (answer,)
        count = len(self.needs_input_grad)
        if len(answer) < count or any(each is not None for each in answer[count:]):
            raise _core.Error(f"function {name}Backward returned an incorrect number of gradients "
                              f"(expected {count}, got {len(answer)})")
        out = []
        for i, grad in enumerate(answer[:count]):
            if i in self._inputs:
                out.append(self._fitting(grad, i, name))
            elif grad is not None:
                raise _core.Error(f"function {name}Backward returned a gradient different from "
                                  f"None at position {i + 1}, but the corresponding forward input "
                                  "was not a Variable")
        return out

    def _fitting(self, grad, i, name):
        shape, dtype = self._inputs[i]
        if grad is None or not self.needs_input_grad[i]:
            return None
        if not isinstance(grad, Tensor):
            raise TypeError(f"expected Variable or None (got {type(grad).__name__})")
        if grad.shape != shape:
            try:
                grad = grad.sum_to_size(shape)
            except RuntimeError:
                raise _core.ShapeError(f"Function {name}Backward returned an invalid gradient at "
                                       f"index {i} - got {list(grad.shape)} but expected shape "
                                       f"compatible with {list(shape)}") from None
        return grad if grad.dtype == dtype else grad.to(dtype)


class Function:
    """Base of functions that compute their own gradients: write forward() and backward() as
    static methods, call apply(). See the module."""

    def __init__(self, *arguments, **keywords):
        raise _core.Error(f"{type(self).__name__} should not be instantiated. Methods on autograd "
                          "functions are all static, so you should invoke them on the class "
                          "itself: call apply()")

    @staticmethod
    def forward(*arguments, **keywords):
        """forward(ctx, *arguments), or forward(*arguments) with setup_context()."""
        raise NotImplementedError("You must implement the forward function for custom "
                                  "autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Where forward takes no ctx: fills it in afterwards."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grads):
        """A gradient for each argument of forward; None where there is none."""
        raise NotImplementedError("You must implement the backward function for your custom "
                                  "autograd.Function to use it.")

    @classmethod
    def apply(cls, *arguments):
        """Runs forward and records the call."""
        ctx = FunctionCtx()
        ctx._function = cls
        ctx.needs_input_grad = tuple(isinstance(each, Tensor) and each.requires_grad
                                     for each in arguments)
        with no_grad():
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *arguments)
            else:
                output = cls.forward(*arguments)
                cls.setup_context(ctx, arguments, output)
        several = isinstance(output, (tuple, list))
        outputs = _record(cls, ctx, arguments, list(output) if several else [output])
        return tuple(outputs) if several else outputs[0]


def _is_in(x, tensors):
    return any(x is each for each in tensors)


def _record(cls, ctx, arguments, outputs):
    """The outputs as made from the arguments."""
    inputs = {i: each for i, each in enumerate(arguments) if isinstance(each, Tensor)}
    for x in ctx._dirty:
        if not _is_in(x, outputs):
            raise _core.Error("Some elements marked as dirty during the forward method were not "
                              "returned as output. The inputs that are modified inplace must all "
                              "be outputs of the Function.")
    wanted = _core.is_grad_enabled() and any(ctx.needs_input_grad)
    results = []
    ctx._results = []
    for j, x in enumerate(outputs):
        if not isinstance(x, Tensor):
            ctx._results.append((None, (None, None, None)))
            continue
        if not _is_in(x, ctx._dirty) and (_is_in(x, inputs.values()) or x.requires_grad):
            x = outputs[j] = x.detach()
        graph = wanted and x.is_floating_point() and not _is_in(x, ctx._constant)
        ctx._results.append((len(results) if graph else None, (x.shape, x.dtype, x.device)))
        if graph:
            results.append(x)
    saved, ctx._to_save = ctx._to_save, ()
    if results:
        ctx._inputs = {i: (x.shape, x.dtype) for i, x in inputs.items()}
        ctx._saved = [x is not None for x in saved]
        made = _core._record_function(cls.__name__, inputs.values(),
                                      [x for x in saved if x is not None], results, ctx)
        for j, (slot, _) in enumerate(ctx._results):
            if slot is not None:
                outputs[j] = made[slot]
    ctx._dirty = ctx._constant = ()
    return outputs


def once_differentiable(backward):
    """Every backward is: gradients of gradients are not recorded."""
    return backward


InplaceFunction = Function

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]
