"""Tensors made from others' shapes, from ranges, and at random."""
import math

from . import _core
from ._core import Tensor, arange, empty, full, ones, tensor, uniform, zeros

METHODS = ("new new_zeros new_ones new_empty new_full new_tensor uniform_ normal_ bernoulli "
           "bernoulli_ random_ exponential_ geometric_ log_normal_ cauchy_ multinomial").split()
FUNCTIONS = ("eye linspace logspace rand randn randint randperm normal zeros_like ones_like "
             "empty_like full_like rand_like randn_like randint_like multinomial tril_indices "
             "triu_indices scalar_tensor asarray range hann_window hamming_window "
             "blackman_window bartlett_window poisson frombuffer empty_strided").split()


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


def _uniform(shape, dtype, device, generator=None, low=0.0, high=1.0):
    """In [low, high), from the tensors' own source or from a generator."""
    if generator is None:
        return uniform(shape, low, high, dtype=dtype, device=device)
    draws = generator.uniform(shape).to(dtype or _core.get_default_dtype())
    draws = draws if device is None else draws.to(device)
    return draws * (high - low) + low


def _normal(shape, dtype, device, generator=None):
    if generator is None:
        return _core.randn(shape, dtype=dtype, device=device)
    draws = generator.normal(shape).to(dtype or _core.get_default_dtype())
    return draws if device is None else draws.to(device)


def rand(*size, dtype=None, device=None, requires_grad=False, generator=None, layout=None,
         pin_memory=False):
    """Uniform numbers in [0, 1)."""
    out = _uniform(_shape(size), dtype, device, generator)
    return out.requires_grad_() if requires_grad else out


def randn(*size, dtype=None, device=None, requires_grad=False, generator=None, layout=None,
          pin_memory=False):
    """Normally distributed numbers."""
    out = _normal(_shape(size), dtype, device, generator)
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

def randint(low, high=None, size=None, *, dtype=None, device=None, generator=None,
            requires_grad=False):
    """Whole numbers in [low, high): randint(high, size) or randint(low, high, size)."""
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if low >= high:
        raise _core.InvalidArgumentError(f"random_ expects 'from' to be less than 'to', but got "
                                         f"from={low} >= to={high}")
    draws = _uniform(size, _core.float64, device, generator, 0.0, float(high - low))
    return (draws.long() + low).to(dtype or _core.int64)


def randint_like(x, low, high=None, *, dtype=None, device=None):
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, x.shape, dtype=dtype or x.dtype, device=device or x.device)


def randperm(n, *, dtype=None, device=None, generator=None):
    """A random order of 0 ... n - 1."""
    return _uniform((n,), _core.float64, device, generator).argsort(0).to(dtype or _core.int64)


def normal(mean=0.0, std=1.0, size=None, *, generator=None, dtype=None, device=None,
           requires_grad=False):
    """Normally distributed numbers; mean and std may be tensors."""
    _check_std(std)
    if size is None:
        like = mean if isinstance(mean, Tensor) else std
        size = (mean + std).shape
        dtype, device = dtype or like.dtype, device or like.device
    out = _normal(tuple(size), dtype, device, generator) * std + mean
    if dtype is not None:
        out = out.to(dtype)
    return out.requires_grad_() if requires_grad else out


def _check_std(std):
    if not isinstance(std, Tensor) and not std >= 0:
        raise _core.InvalidArgumentError(f"normal: std is {std}: it must not be negative")


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
        draws = _uniform((rows.size(0), num_samples), _core.float64, x.device, generator)
        draws = draws * total.narrow(1, rows.size(1) - 1, 1)
        out = (total.unsqueeze(1) <= draws.unsqueeze(2)).sum(-1).clamp(max=rows.size(1) - 1)
    else:
        # The largest log(w) + Gumbel noise are a sample without replacement (Vieira 2014).
        noise = -(-_uniform(rows.shape, _core.float64, x.device, generator, 1e-300).log()).log()
        out = (rows.log() + noise).topk(num_samples, -1)[1]
    return out if weights.ndim == 2 else out.squeeze(0)


def uniform_(x, from_=0.0, to=1.0, *, generator=None, **named):
    """Overwrites by uniform numbers in [from, to)."""
    low = named.pop("from", named.pop("a", from_))
    high = named.pop("b", to)
    if named:
        raise TypeError(f"uniform_() got an unexpected keyword argument {next(iter(named))!r}")
    return x.copy_(_uniform(x.shape, x.dtype, x.device, generator, float(low), float(high)))


def normal_(x, mean=0.0, std=1.0, *, generator=None):
    """Overwrites by normally distributed numbers."""
    _check_std(std)
    return x.copy_(_normal(x.shape, x.dtype, x.device, generator) * std + mean)


def log_normal_(x, mean=1.0, std=2.0, *, generator=None):
    """Overwrites by e to normally distributed numbers."""
    return x.copy_((_normal(x.shape, x.dtype, x.device, generator) * std + mean).exp())


def _check_probability(name, p):
    if not isinstance(p, Tensor) and not 0 <= p <= 1:
        raise _core.InvalidArgumentError(f"{name}: p is {p}: it must be in [0, 1]")


def bernoulli(x, p=None, *, generator=None):
    """1 with the probability that each element names, or p, else 0. Elements are not read back to
    be checked: one below 0 or NaN counts as 0, one above 1 as 1."""
    p = x.detach() if p is None else p
    _check_probability("bernoulli", p)
    dtype = p.dtype if isinstance(p, Tensor) and p.is_floating_point() else _core.float32
    return (_uniform(x.shape, dtype, x.device, generator) < p).to(x.dtype)


def bernoulli_(x, p=0.5, *, generator=None):
    """Overwrites by 1 with probability p, else 0; of a tensor p as bernoulli()."""
    _check_probability("bernoulli_", p)
    return x.copy_((_uniform(x.shape, _core.float32, x.device, generator) < p).to(x.dtype))


def random_(x, low=0, high=None, *, generator=None):
    """Overwrites by whole numbers in [low, high)."""
    low, high = (0, low) if high is None and low else (low, high if high is not None else 1 << 24)
    return x.copy_(randint(low, high, x.shape, device=x.device, generator=generator).to(x.dtype))


def exponential_(x, lambd=1.0, *, generator=None):
    """Overwrites by exponentially distributed numbers."""
    draws = _uniform(x.shape, _core.float64, x.device, generator)
    return x.copy_(((1 - draws).log() * (-1.0 / lambd)).to(x.dtype))


def geometric_(x, p, *, generator=None):
    """Overwrites by how many trials of probability p it takes to the first success."""
    draws = _uniform(x.shape, _core.float64, x.device, generator)
    return x.copy_(((1 - draws).log() / math.log1p(-p)).ceil().clamp(min=1).to(x.dtype))


def cauchy_(x, median=0.0, sigma=1.0, *, generator=None):
    """Overwrites by numbers of a Cauchy distribution."""
    draws = _uniform(x.shape, _core.float64, x.device, generator)
    return x.copy_((((draws - 0.5) * math.pi).tan() * sigma + median).to(x.dtype))


def poisson(input, generator=None):
    """Counts of the given rates, by the gaps of their processes: for rates up to some hundreds."""
    rate = input.detach().double()
    gone = _core.zeros(rate.shape, dtype=_core.float64, device=input.device)
    count = gone.clone()
    for _ in _builtin_range(1 << 16):
        gap = _uniform(rate.shape, _core.float64, input.device, generator)
        gone = gone - (1 - gap).log()
        more = gone < rate
        if not bool(more.any()):
            break
        count = count + more.double()
    return count.to(input.dtype)


# --- ranges and windows -----------------------------------------------------------------------

_builtin_range = range


def range(start=0, end=None, step=1, *, dtype=None, device=None):  # noqa: A001
    """As arange, with the end: PyTorch's former function."""
    start, end = (0, start) if end is None else (start, end)
    count = int((end - start) / step) + 1
    return arange(count, dtype=_core.float64, device=device).mul(step).add(start).to(
        dtype or _core.get_default_dtype())


def _window(parts):
    """A sum of cosines: parts[k] (-1)^k cos(2 pi k i / n)."""
    def window(window_length, periodic=True, *, dtype=None, device=None):
        n = window_length if periodic else window_length - 1
        if window_length == 1:
            return ones((1,), dtype=dtype, device=device)
        turn = arange(window_length, dtype=_core.float64, device=device) * (2 * math.pi / n)
        total = sum((-1) ** k * part * (turn * k).cos() for k, part in enumerate(parts))
        return total.to(dtype or _core.get_default_dtype())
    return window


hann_window, blackman_window = _window((0.5, 0.5)), _window((0.42, 0.5, 0.08))


def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None,
                   device=None):
    """alpha - beta cos(2 pi i / n)"""
    return _window((alpha, beta))(window_length, periodic, dtype=dtype, device=device)


def bartlett_window(window_length, periodic=True, *, dtype=None, device=None):
    """A triangle."""
    n = window_length if periodic else window_length - 1
    if window_length == 1:
        return ones((1,), dtype=dtype, device=device)
    place = arange(window_length, dtype=_core.float64, device=device)
    return (1 - (place * (2 / n) - 1).abs()).to(dtype or _core.get_default_dtype())


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A copy of a buffer's bytes as numbers."""
    data = memoryview(buffer).cast("B")[offset:]
    n = len(data) // dtype.itemsize if count < 0 else count
    if n * dtype.itemsize > len(data):
        raise ValueError(f"frombuffer: {n} elements of {dtype.itemsize} bytes from offset {offset} "
                         f"are more than the buffer's {len(data)}")
    out = _core._from_data(bytes(data[:n * dtype.itemsize]), dtype, (n,))
    return out.requires_grad_() if requires_grad else out


def empty_strided(size, stride, *, dtype=None, device=None, requires_grad=False):
    """Zeros of a size; they lie in row-major order, whatever `stride` says."""
    return zeros(size, dtype=dtype, device=device, requires_grad=requires_grad)


def new(x, *size):
    """An empty tensor of x's type: PyTorch's former constructor."""
    if len(size) == 1 and not isinstance(size[0], int):
        return tensor(size[0], dtype=x.dtype, device=x.device)
    return zeros(size or (0,), dtype=x.dtype, device=x.device)
