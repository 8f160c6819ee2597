"""Tensors made from others' shapes, from ranges, and at random."""
from . import _core
from ._core import (Tensor, arange, empty, full, ones, randn, tensor, uniform,
                    zeros)

METHODS = ("new_zeros new_ones new_empty new_full new_tensor uniform_ normal_ bernoulli_ "
           "random_ exponential_ multinomial").split()
FUNCTIONS = ("eye linspace logspace rand randint randperm normal zeros_like ones_like empty_like "
             "full_like rand_like randn_like randint_like multinomial tril_indices "
             "triu_indices scalar_tensor asarray").split()


def _shape(size):
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)


def eye(n, m=None, *, dtype=None, device=None, requires_grad=False):
    """Ones on the diagonal, else zeros: [n, m]."""
    rows = arange(n, device=device).unsqueeze(1)
    columns = arange(n if m is None else m, device=device).unsqueeze(0)
    out = (rows == columns).to(dtype or _core.get_default_dtype())
    return out.requires_grad_() if requires_grad else out


def linspace(start, end, steps, *, dtype=None, device=None, requires_grad=False):
    """`steps` numbers from start to end, both included, in equal distances."""
    if steps < 0:
        raise _core.InvalidArgumentError("number of steps must be non-negative")
    start, end = float(start), float(end)
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    # From both ends, so that the last is `end` to the bit.
    index = arange(steps, dtype=_core.float64, device=device)
    up, down = index * step + start, (index - (steps - 1)) * step + end
    out = _core.where(index < steps // 2 + (steps == 1), up, down)
    out = out.to(dtype or _core.get_default_dtype())
    return out.requires_grad_() if requires_grad else out


def logspace(start, end, steps, base=10.0, *, dtype=None, device=None):
    exponents = linspace(start, end, steps, dtype=_core.float64, device=device)
    return (full((), base, dtype=_core.float64, device=device) ** exponents).to(
        dtype or _core.get_default_dtype())


def tril_indices(row, col, offset=0, *, device=None):
    """Indices of the lower triangle: [2, count]."""
    return _core.stack(_core.nonzero(ones((row, col), device=device).tril(offset),
                                     as_tuple=True))


def triu_indices(row, col, offset=0, *, device=None):
    return _core.stack(_core.nonzero(ones((row, col), device=device).triu(offset),
                                     as_tuple=True))


def scalar_tensor(value, *, dtype=None, device=None):
    return tensor(float(value), dtype=dtype, device=device)


asarray = _core.as_tensor


# --- of the shape of another ------------------------------------------------------------------

def _like(make):
    def function(x, *, dtype=None, device=None, requires_grad=False, memory_format=None):
        return make(x.shape, dtype=dtype or x.dtype, device=device or x.device,
                    requires_grad=requires_grad)
    function.__doc__ = f"{make.__name__}() of the shape, type and device of x."
    return function


def rand(*size, dtype=None, device=None, requires_grad=False, generator=None):
    """Uniform numbers in [0, 1)."""
    out = uniform(_shape(size), dtype=dtype, device=device)
    return out.requires_grad_() if requires_grad else out


zeros_like, ones_like, empty_like = _like(zeros), _like(ones), _like(empty)
rand_like, randn_like = _like(rand), _like(randn)


def full_like(x, fill_value, *, dtype=None, device=None, requires_grad=False):
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device,
                requires_grad=requires_grad)


def new_tensor(x, data, *, dtype=None, device=None, requires_grad=False):
    return tensor(data, dtype=dtype or x.dtype, device=device or x.device,
                  requires_grad=requires_grad)


def new_zeros(x, *size, dtype=None, device=None):
    return zeros(_shape(size), dtype=dtype or x.dtype, device=device or x.device)


def new_ones(x, *size, dtype=None, device=None):
    return ones(_shape(size), dtype=dtype or x.dtype, device=device or x.device)


def new_empty(x, *size, dtype=None, device=None):
    return empty(_shape(size), dtype=dtype or x.dtype, device=device or x.device)


def new_full(x, size, fill_value, *, dtype=None, device=None):
    return full(size, fill_value, dtype=dtype or x.dtype, device=device or x.device)


# --- at random --------------------------------------------------------------------------------

def randint(low, high=None, size=None, *, dtype=None, device=None, generator=None):
    """Whole numbers in [low, high): randint(high, size) or randint(low, high, size)."""
    if size is None:
        low, high, size = 0, low, high
    if low >= high:
        raise _core.InvalidArgumentError(f"random_ expects 'from' to be less than 'to', but got "
                                         f"from={low} >= to={high}")
    draws = uniform(size, 0.0, float(high - low), dtype=_core.float64, device=device)
    return (draws.long() + low).to(dtype or _core.int64)


def randint_like(x, low, high=None, *, dtype=None, device=None):
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, x.shape, dtype=dtype or x.dtype, device=device or x.device)


def randperm(n, *, dtype=None, device=None, generator=None):
    """A random order of 0 ... n - 1."""
    return uniform((n,), dtype=_core.float64, device=device).argsort(0).to(dtype or _core.int64)


def normal(mean=0.0, std=1.0, size=None, *, generator=None, dtype=None, device=None):
    """Normally distributed numbers; mean and std may be tensors."""
    if size is None:
        size = mean.shape if isinstance(mean, Tensor) else std.shape
    return randn(size, dtype=dtype, device=device) * std + mean


def multinomial(x, num_samples, replacement=False, *, generator=None):
    """Indices drawn by the weights in the last dimension."""
    weights = x.detach().double()
    rows = weights if weights.ndim == 2 else weights.unsqueeze(0)
    if float(rows.min()) < 0 or float(rows.sum(-1).min()) <= 0:
        raise _core.InvalidArgumentError("invalid multinomial distribution (weights must be >= 0 "
                                         "with a sum > 0)")
    if not replacement and num_samples > rows.size(1):
        raise _core.InvalidArgumentError("cannot sample n_sample > prob_dist.size(-1) samples "
                                         "without replacement")
    if replacement:
        total = rows.cumsum(-1)
        draws = uniform((rows.size(0), num_samples), dtype=_core.float64, device=x.device)
        draws = draws * total.narrow(1, rows.size(1) - 1, 1)
        out = (total.unsqueeze(1) <= draws.unsqueeze(2)).sum(-1).clamp(max=rows.size(1) - 1)
    else:
        # The largest log(w) + Gumbel noise are a sample without replacement (Vieira 2014).
        noise = -(-uniform(rows.shape, 1e-300, 1.0, dtype=_core.float64,
                           device=x.device).log()).log()
        out = (rows.log() + noise).topk(num_samples, -1)[1]
    return out if weights.ndim == 2 else out.squeeze(0)


def uniform_(x, a=0.0, b=1.0, *, generator=None):
    """Overwrites by uniform numbers in [a, b)."""
    return x.copy_(uniform(x.shape, float(a), float(b), dtype=x.dtype, device=x.device))


def normal_(x, mean=0.0, std=1.0, *, generator=None):
    """Overwrites by normally distributed numbers."""
    draws = randn(x.shape, dtype=x.dtype, device=x.device)
    return x.copy_(draws * std + mean)


def bernoulli_(x, p=0.5, *, generator=None):
    """Overwrites by 1 with probability p, else 0."""
    draws = uniform(x.shape, dtype=_core.float32, device=x.device)
    return x.copy_((draws < p).to(x.dtype))


def random_(x, low=0, high=None, *, generator=None):
    """Overwrites by whole numbers in [low, high)."""
    low, high = (0, low) if high is None and low else (low, high if high is not None else 1 << 24)
    return x.copy_(randint(low, high, x.shape, device=x.device).to(x.dtype))


def exponential_(x, lambd=1.0, *, generator=None):
    """Overwrites by exponentially distributed numbers."""
    draws = uniform(x.shape, dtype=_core.float64, device=x.device)
    return x.copy_(((1 - draws).log() * (-1.0 / lambd)).to(x.dtype))
