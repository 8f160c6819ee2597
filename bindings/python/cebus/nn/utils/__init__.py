"""Gradients and parameters as a whole (nn.utils)."""
import math

from ... import _core, missing
from . import parametrizations, parametrize, rnn  # noqa: F401
from .reparametrized import (  # noqa: F401
    remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm)


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    """Scales gradients to a common norm of at most `max_norm`; answers the norm before that."""
    parameters = [parameters] if isinstance(parameters, _core.Tensor) else list(parameters)
    parameters = [p for p in parameters if p.grad is not None]
    if norm_type == 2:
        norm = _core.clip_grad_norm(parameters, float(max_norm))
    else:
        norms = [float(p.grad.detach().norm(norm_type)) for p in parameters]
        norm = max(norms, default=0.0) if norm_type == math.inf else \
            sum(each ** norm_type for each in norms) ** (1 / norm_type)
        for p in parameters:
            if norm > max_norm:
                p.grad.mul_(max_norm / (norm + 1e-6))
    if error_if_nonfinite and not math.isfinite(norm):
        raise _core.Error(f"The total norm of order {norm_type} for gradients from `parameters` is "
                          "non-finite, so it cannot be clipped.")
    return _core.tensor(norm)


def clip_grad_value_(parameters, clip_value):
    """Cuts every element of the gradients to [-clip_value, clip_value]."""
    for p in [parameters] if isinstance(parameters, _core.Tensor) else parameters:
        if p.grad is not None:
            p.grad.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters):
    return _core.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vector, parameters):
    at = 0
    for p in parameters:
        p.detach().copy_(vector.narrow(0, at, p.numel()).reshape(p.shape))
        at += p.numel()


def skip_init(module_cls, *arguments, **keywords):
    """A module; its first values are made like any."""
    return module_cls(*arguments, **keywords)


clip_grad_norm = clip_grad_norm_


def __dir__():
    return sorted(set(globals()))


__getattr__ = missing.of_module("cebus.nn.utils", __dir__)
