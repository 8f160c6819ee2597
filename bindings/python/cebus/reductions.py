"""Reductions and scans that the C library leaves to composition."""
import math

from . import _core
from ._core import Tensor, ValuesAndIndices, _wrapped, cat, where

METHODS = ("std std_mean var_mean norm prod any all cumsum cumprod median nansum "
           "nanmean count_nonzero dist aminmax equal allclose isclose").split()


def std(x, dim=None, unbiased=True, keepdim=False, *, correction=None):
    """Square root of the variance, also where that is too large or too small for the type."""
    scale = _safe_scale(x.detach().abs(), dim)
    if scale is None:
        return _root(x.var(dim, unbiased, keepdim, correction=correction))
    found = _root((x * scale).var(dim, unbiased, True, correction=correction)) / scale
    return found if keepdim else found.reshape(x.sum(dim).shape)


# Of f32 and bf16, whose squares fit between them, and of f64: a power of 2.
SCALES = {_core.float32: (60, 80), _core.bfloat16: (60, 80), _core.float64: (480, 600)}


def _power_for(size):
    """A power of two that brings sizes where their squares fit; 1 for those that are there. None
    for types of which all squares fit in what they are summed in."""
    if size.dtype not in SCALES:
        return None
    bound, power = SCALES[size.dtype]
    up, one, down = [_core.tensor(2.0 ** n, dtype=size.dtype, device=size.device)
                     for n in (power, 0, -power)]
    small = where((size < 2.0 ** -bound) & (size > 0), up, one)
    return where(size > 2.0 ** bound, down, small)


def _safe_scale(size, dim):
    return _power_for(size.amax(dim, True)) if size.numel() else None


def _root(x, p=2):
    """The p-th root, with a gradient of 0 at 0, as norms and deviations have: not infinity, which
    times the 0 behind it is NaN."""
    some = x != 0 if x.requires_grad and _core.is_grad_enabled() else None
    x = x if some is None else where(some, x, 1.0)
    x = x.sqrt() if p == 2 else x ** (1.0 / p)
    return x if some is None else x * some


def var_mean(x, dim=None, unbiased=True, keepdim=False):
    return x.var(dim, unbiased, keepdim), x.mean(dim, keepdim)


def std_mean(x, dim=None, unbiased=True, keepdim=False):
    return std(x, dim, unbiased, keepdim), x.mean(dim, keepdim)


def norm(x, p="fro", dim=None, keepdim=False, dtype=None):
    """The p-norm: (sum |x|^p)^(1/p); p may be 0, inf and -inf."""
    x = _core._raised(x) if dtype is None else x.to(dtype)
    if p in ("fro", 2, 2.0, None):
        return _root((x * x).sum(dim, keepdim))
    size = x.abs()
    if p == math.inf:
        return size.amax(dim, keepdim) if size.numel() else size.sum(dim, keepdim)
    if p == -math.inf:
        return size.amin(dim, keepdim)
    if p == 1:
        return size.sum(dim, keepdim)
    if p == 0:
        return (x != 0).to(x.dtype).sum(dim, keepdim)
    return _root((size ** p).sum(dim, keepdim), p)


def dist(x, other, p=2):
    return norm(x - other, p)


def any(x, dim=None, keepdim=False):  # noqa: A001
    """Whether any element is not zero."""
    truth = x if x.dtype is _core.bool_ else x != 0
    found = truth.amax(dim, keepdim) if truth.numel() else truth.sum(dim, keepdim) != 0
    return found.byte() if x.dtype is _core.uint8 else found  # as PyTorch has it


def all(x, dim=None, keepdim=False):  # noqa: A001
    """Whether no element is zero."""
    truth = x if x.dtype is _core.bool_ else x != 0
    found = truth.amin(dim, keepdim) if truth.numel() else (~truth).sum(dim, keepdim) == 0
    return found.byte() if x.dtype is _core.uint8 else found


def count_nonzero(x, dim=None):
    return (x != 0).sum(dim)


def nansum(x, dim=None, keepdim=False):
    if not x.is_floating_point():
        return x.sum(dim, keepdim)
    return where(x != x, 0.0, x).sum(dim, keepdim)


def nanmean(x, dim=None, keepdim=False):
    return nansum(x, dim, keepdim) / (x == x).sum(dim, keepdim)


def aminmax(x, *, dim=None, keepdim=False):
    return x.amin(dim, keepdim), x.amax(dim, keepdim)


def prod(x, dim=None, keepdim=False, *, dtype=None):
    """Product, by halves: as many steps as the length has binary digits."""
    if dtype is not None:
        return prod(x.to(dtype), dim, keepdim).to(dtype)
    x = _core._raised(x)
    if x.dtype is _core.bool_ or x.dtype in (_core.uint8, _core.int32):
        x = x.long()
    if dim is None:
        x, dim, shape = x.reshape(-1), 0, ()
    else:
        dim = _wrapped(x, dim)
        if x.ndim == 0:
            return x.clone()
        shape = tuple(x.shape[:dim]) + ((1,) if keepdim else ()) + tuple(x.shape[dim + 1:])
    if x.size(dim) == 0:
        return x.sum(dim).reshape(shape) + 1
    if x.size(dim) == 1:
        return x.reshape(shape).clone()
    while x.size(dim) > 1:
        half = x.size(dim) // 2
        pairs = x.narrow(dim, 0, half) * x.narrow(dim, half, half)
        rest = x.narrow(dim, 2 * half, x.size(dim) - 2 * half)
        x = pairs if rest.size(dim) == 0 else cat([pairs, rest], dim)
    return x.reshape(shape)


def _scan(x, dim, operation, neutral):
    """Inclusive scan in log2(n) steps (Hillis and Steele 1986)."""
    dim = _wrapped(x, dim)
    if x.ndim == 0 or x.size(dim) < 2:
        return x.clone()
    step, length = 1, x.size(dim)
    while step < length:
        shape = list(x.shape)
        shape[dim] = step
        border = _core.full(shape, neutral, dtype=x.dtype, device=x.device)
        x = operation(x, cat([border, x.narrow(dim, 0, length - step)], dim))
        step *= 2
    return x


def _summand(x, dtype):
    if dtype is not None:
        return x.to(dtype)
    return _core._raised(x) if x.is_floating_point() else x.long()


def cumsum(x, dim, dtype=None):
    """Sums of all elements up to each along `dim`."""
    x = _summand(x, dtype)
    return _scan(x, dim, Tensor.add, 0)


def cumprod(x, dim, dtype=None):
    """Products of all elements up to each along `dim`."""
    x = _summand(x, dtype)
    return _scan(x, dim, Tensor.mul, 1)


def median(x, dim=None, keepdim=False):
    """The middle one; of an even number the lower; of nothing at all NaN."""
    if dim is None and x.numel() == 0 and x.is_floating_point():
        return _core.full((), math.nan, dtype=x.dtype, device=x.device)
    if (x.numel() if dim is None else x.size(dim) if x.ndim else 1) == 0:
        raise _core.InvalidArgumentError("median: there is no element to choose")
    if dim is None:
        return median(x.reshape(-1), 0)[0]
    values, indices = x.sort(dim)
    if x.ndim == 0:
        return ValuesAndIndices(values, indices)
    last, middle = x.size(dim) - 1, (x.size(dim) - 1) // 2
    end = values.detach().narrow(dim, last, 1)
    place = (end != end).long() * (last - middle) + middle  # NaN is last, and of NaN all is NaN
    pick = [each.gather(dim, place) for each in (values, indices)]
    return ValuesAndIndices(*(pick if keepdim else [each.squeeze(dim) for each in pick]))


def isclose(x, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    """|x - other| <= atol + rtol |other|, element by element."""
    if not x.is_floating_point():
        return x == other if rtol == 0 and atol == 0 else isclose(x.double(), other.double(),
                                                                 rtol, atol)
    apart = (x - other).abs()
    close = ((apart <= atol + rtol * other.abs()) & (apart < math.inf)) | (x == other)
    if equal_nan:
        close = close | ((x != x) & (other != other))
    return close


def allclose(x, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether all elements are close."""
    return bool(all(isclose(x.detach(), other.detach(), rtol, atol, equal_nan)))


def equal(x, other):
    """Whether shape and all elements are equal."""
    return tuple(x.shape) == tuple(other.shape) and bool(all(x.detach() == other.detach()))
