"""Activations and dropouts that are less common, as functions."""
import math

from .. import _core
from .._core import where

__all__ = ["celu", "hardshrink", "softshrink", "threshold", "rrelu", "dropout1d", "dropout3d",
           "alpha_dropout", "feature_alpha_dropout", "relu_", "elu_", "selu_", "celu_",
           "leaky_relu_", "hardtanh_", "threshold_", "rrelu_"]

# SELU's limit far below zero (Klambauer et al. 2017): what dropped units are set to.
SELU_FLOOR = -1.0507009873554804934 * 1.6732632423543772848


def _into(input, found, inplace):
    """What was found, written into the input on request."""
    return input.copy_(found) if inplace and found is not input else found


def celu(input, alpha=1.0, inplace=False):
    """max(x, 0) + min(alpha (e^(x / alpha) - 1), 0)"""
    return _into(input, input.relu() + alpha * (input.clamp(max=0) / alpha).expm1(), inplace)


def hardshrink(input, lambd=0.5):
    """x, or 0 where |x| is at most lambd."""
    return where(input.abs() <= lambd, 0.0, input)


def softshrink(input, lambd=0.5):
    """x moved towards 0 by lambd."""
    if lambd < 0:
        raise _core.InvalidArgumentError(f"lambda must be greater or equal to 0, but found to be "
                                         f"{lambd}.")
    return (input - lambd).relu() - (-input - lambd).relu()


def threshold(input, threshold, value, inplace=False):
    """x where it is above the threshold, else `value`."""
    return _into(input, where(input > threshold, input, float(value)), inplace)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """x, or a random share of it where x < 0; in evaluation the mean share."""
    share = _core.uniform(input.shape, lower, upper, dtype=input.dtype, device=input.device) \
        if training else (lower + upper) / 2
    return _into(input, where(input > 0, input, input * share), inplace)


# --- dropout ----------------------------------------------------------------------------------

def _check(p):
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _channels(input, p, training, ndim):
    """Whole channels of [N, C, ...] or [C, ...] (`ndim` dimensions) become zero."""
    _check(p)
    if not training or p == 0:
        return input
    lead = 1 if input.ndim == ndim else 2
    mask = _core.ones(tuple(input.shape[:lead]) + (1,) * (input.ndim - lead), dtype=input.dtype,
                      device=input.device)
    return input * _core.dropout(mask, p, True)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Whole channels of [N, C, L] become zero."""
    return _into(input, _channels(input, p, training, 2), inplace)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Whole channels of [N, C, D, H, W] become zero."""
    return _into(input, _channels(input, p, training, 4), inplace)


def _to_floor(input, p, training, shape):
    """Dropped units are set to SELU's floor; mean and variance stay (Klambauer et al. 2017)."""
    _check(p)
    if not training or p == 0:
        return input
    if p == 1:
        return input * 0.0
    scale = 1 / math.sqrt((1 - p) * (1 + p * SELU_FLOOR ** 2))
    kept = _core.uniform(shape, 0.0, 1.0, dtype=input.dtype, device=input.device) >= p
    return where(kept, input, SELU_FLOOR) * scale - scale * p * SELU_FLOOR


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps what SELU normalizes."""
    return _into(input, _to_floor(input, p, training, input.shape), inplace)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout of whole channels."""
    shape = tuple(input.shape[:2]) + (1,) * (input.ndim - 2)
    return _into(input, _to_floor(input, p, training, shape), inplace)


# --- in place ---------------------------------------------------------------------------------

def _writing(function):
    def write(input, *arguments, **keywords):
        return input.copy_(function(input, *arguments, **keywords))
    write.__doc__ = f"Writes {function.__name__}() into the tensor."
    return write


def _of_functional(name):
    def function(*arguments, **keywords):
        from . import functional
        return getattr(functional, name)(*arguments, **keywords)
    function.__name__ = name
    return function


celu_, threshold_, rrelu_ = _writing(celu), _writing(threshold), _writing(rrelu)
relu_, elu_, selu_, leaky_relu_, hardtanh_ = [
    _writing(_of_functional(name)) for name in ("relu", "elu", "selu", "leaky_relu", "hardtanh")]
