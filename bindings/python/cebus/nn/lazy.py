"""Layers whose input size is found out by their first input, under the names of torch.nn."""
from .. import _core
from . import layers
from .module import Module
from .parameter import Parameter

__all__ = ["LazyLinear", "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d",
           "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyBatchNorm1d", "LazyBatchNorm2d",
           "LazyBatchNorm3d", "UninitializedParameter"]


class UninitializedParameter(Parameter):
    """A parameter whose shape is not known yet: of no elements until it is."""


def _grow(param, made):
    """The parameter itself becomes as the one that was made: an optimizer may have it already."""
    param.data = made.detach()
    param.__class__ = Parameter


class _Lazy(Module):
    """Made in full from the first input, and then an ordinary layer."""

    full, size_name, size_at = None, "", 1

    def __init__(self, *arguments, **keywords):
        super().__init__()
        self._made_with = (arguments, keywords)
        # A trial of size 1 says which parameters there will be. It uses up no random numbers.
        from ..random import fork_rng
        with fork_rng():
            trial = self._make(max(keywords.get("groups", 1), 1))
        for name, param in trial._parameters.items():
            self.register_parameter(name, None if param is None else
                                    UninitializedParameter(_core.empty(0)))

    def _make(self, size):
        arguments, keywords = self._made_with
        return self.full(size, *arguments, **keywords)

    def forward(self, x, *more):
        made = self._make(x.size(self.size_at))
        for name, param in self._parameters.items():
            if param is not None:
                _grow(param, made._parameters[name])
                made._parameters[name] = param
        kept = {name: self.__dict__[name] for name in ("_forward_hooks", "_forward_pre_hooks",
                                                       "_backward_hooks", "_backward_pre_hooks",
                                                       "training")}
        self.__dict__.clear()
        self.__dict__.update(made.__dict__)
        self.__dict__.update(kept)
        self.__class__ = self.full
        return self.forward(x, *more)

    def has_uninitialized_params(self):
        """Until the first input."""
        return True

    def extra_repr(self):
        arguments, keywords = self._made_with
        return ", ".join(["?", *map(repr, arguments),
                          *(f"{name}={value!r}" for name, value in keywords.items())])


def _lazy(full, size_at):
    name = "Lazy" + full.__name__
    return type(name, (_Lazy,), {"full": full, "size_at": size_at, "__module__": __name__,
                                 "__doc__": f"{full.__name__} for whatever comes first."})


LazyLinear = _lazy(layers.Linear, -1)
LazyConv1d, LazyConv2d, LazyConv3d = [
    _lazy(each, 1) for each in (layers.Conv1d, layers.Conv2d, layers.Conv3d)]
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = [
    _lazy(each, 1) for each in (layers.ConvTranspose1d, layers.ConvTranspose2d,
                                layers.ConvTranspose3d)]
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = [
    _lazy(each, 1) for each in (layers.BatchNorm1d, layers.BatchNorm2d, layers.BatchNorm3d)]
