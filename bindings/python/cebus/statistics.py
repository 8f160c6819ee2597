"""Order statistics, running extremes, differences and searches. As in positions.py, orders are
found on the host and values are gathered on the device."""
import math

from . import _core
from ._core import Tensor, ValuesAndIndices, _wrapped, cat, where
from .positions import _slices

METHODS = ("cummax cummin logcumsumexp mode nanmedian quantile nanquantile msort diff cov corrcoef "
           "unique_consecutive renorm argwhere").split()
FUNCTIONS = ("searchsorted bucketize isin trapezoid trapz cumulative_trapezoid histogram").split()


# --- running ----------------------------------------------------------------------------------

def _running_extreme(x, dim, better):
    """Each step looks twice as far back; of equal ones the later index stands."""
    dim = _wrapped(x, dim)
    if x.ndim == 0:
        return ValuesAndIndices(x.clone(), _core.zeros((), dtype=_core.int64, device=x.device))
    values, length, step = x.detach(), x.size(dim), 1
    shape = [length if d == dim else 1 for d in range(x.ndim)]
    at = _core.arange(length, device=x.device).reshape(shape).expand(x.shape).contiguous()
    while step < length:
        head = [each.narrow(dim, 0, step) for each in (values, at)]
        before = [each.narrow(dim, 0, length - step) for each in (values, at)]
        after = [each.narrow(dim, step, length - step) for each in (values, at)]
        nan = before[0] != before[0] if x.is_floating_point() else None
        earlier = better(before[0], after[0])
        if nan is not None:
            earlier = earlier | (nan & (after[0] == after[0]))
        values, at = [cat([first, where(earlier, b, a)], dim)
                      for first, b, a in zip(head, before, after)]
        step *= 2
    return ValuesAndIndices(x.gather(dim, at), at)


def cummax(x, dim):
    """(largest so far, where it stands) along `dim`."""
    return _running_extreme(x, dim, lambda before, after: before > after)


def cummin(x, dim):
    """(smallest so far, where it stands) along `dim`."""
    return _running_extreme(x, dim, lambda before, after: before < after)


def logcumsumexp(x, dim):
    """log of the sums of e^x up to each along `dim`."""
    from .reductions import _scan
    from .special import logaddexp
    return _scan(x, dim, logaddexp, -math.inf)


# --- order ------------------------------------------------------------------------------------

def msort(x):
    """In order along the first dimension."""
    return x.sort(0)[0]


def mode(x, dim=-1, keepdim=False):
    """The most frequent along `dim` (of several the smallest), and where it is last."""
    dim = _wrapped(x, dim)
    if x.ndim == 0:
        return ValuesAndIndices(x.clone(), _core.zeros((), dtype=_core.int64, device=x.device))
    ordered, order = x.sort(dim, stable=True)
    other = ordered.detach()
    same = (other.unsqueeze(dim) == other.unsqueeze(dim + 1)).sum(dim)
    same = same.clamp(min=1)  # NaN differs from itself
    place = same.argmax(dim, keepdim=True)
    place = place + same.gather(dim, place) - 1
    index = order.gather(dim, place)
    values = x.gather(dim, index)
    return ValuesAndIndices(*((values, index) if keepdim else
                              (values.squeeze(dim), index.squeeze(dim))))


def nanmedian(x, dim=None, keepdim=False):
    """median() of what is not NaN."""
    if dim is None:
        return nanmedian(x.reshape(-1), 0)[0] if x.numel() else x.median()
    values, indices = x.sort(dim)
    if x.ndim == 0:
        return ValuesAndIndices(values, indices)
    count = (values == values).sum(dim, keepdim=True)
    place = ((count - 1).clamp(min=0).double() / 2).floor().long()
    pick = [each.gather(dim, place) for each in (values, indices)]
    return ValuesAndIndices(*(pick if keepdim else [each.squeeze(dim) for each in pick]))


def quantile(x, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The values below which the shares `q` of the elements lie: [len(q), ...]."""
    count = None
    return _quantile(x, q, dim, keepdim, interpolation, count)


def nanquantile(x, q, dim=None, keepdim=False, *, interpolation="linear"):
    """quantile() of what is not NaN."""
    return _quantile(x, q, dim, keepdim, interpolation, lambda ordered: ordered == ordered)


def _quantile(x, q, dim, keepdim, interpolation, known):
    if not x.is_floating_point():
        raise _core.DtypeError("quantile() input tensor must be either float or double dtype")
    shares = q if isinstance(q, Tensor) else _core.tensor(float(q), dtype=x.dtype, device=x.device)
    shape = tuple(shares.shape)
    if min(shares.reshape(-1).tolist(), default=0) < 0 \
            or max(shares.reshape(-1).tolist(), default=0) > 1:
        raise _core.InvalidArgumentError("quantile() q values must be in the range [0, 1]")
    dim = dim if dim is None else _wrapped(x, dim)
    kept = [1 if dim in (None, d) else n for d, n in enumerate(x.shape)]
    rows = x.reshape(-1) if dim is None or x.ndim == 0 else x.movedim(dim, -1)
    ordered = rows.sort(-1)[0]
    last = ordered.size(-1) - 1 if known is None else \
        (known(ordered).sum(-1, keepdim=True) - 1).clamp(min=0)
    found = _between(ordered, shares.detach().reshape(-1), last, interpolation)
    if known is None:
        bad = (rows != rows).any(-1, keepdim=True)
        found = where(bad, math.nan, found)
    found = found.movedim(-1, 0)
    whole = kept if keepdim else [n for d, n in enumerate(x.shape)
                                  if dim is not None and d != dim]
    return found.reshape(list(shape) + list(whole))


def _between(ordered, shares, last, interpolation):
    """[.., len(shares)] of rows in order whose last known index is `last`."""
    place = shares.double() * last
    if interpolation == "nearest":
        place = place.round()
    elif interpolation in ("lower", "higher"):
        place = place.floor() if interpolation == "lower" else place.ceil()
    low, high = place.floor().long(), place.ceil().long()
    shape = tuple(ordered.shape[:-1]) + (shares.numel(),)
    a = ordered.gather(-1, low.expand(shape).contiguous())
    b = ordered.gather(-1, high.expand(shape).contiguous())
    if interpolation == "midpoint":
        return a + (b - a) * 0.5
    if interpolation not in ("linear", "nearest", "lower", "higher"):
        raise _core.InvalidArgumentError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}")
    return a + (b - a) * (place - place.floor()).to(a.dtype)


# --- differences ------------------------------------------------------------------------------

def diff(x, n=1, dim=-1, prepend=None, append=None):
    """Differences of neighbours along `dim`, n times."""
    if n < 0:
        raise _core.InvalidArgumentError(f"order must be non-negative but got {n}")
    parts = [each for each in (prepend, x, append) if each is not None]
    x = cat(parts, dim) if len(parts) > 1 else x
    for _ in range(min(n, x.size(dim))):  # nothing is left after that
        length = max(x.size(dim) - 1, 0)
        after, before = x.narrow(dim, min(1, x.size(dim)), length), x.narrow(dim, 0, length)
        x = after != before if x.dtype is _core.bool_ else after - before
    return x


def _strips(y, x, dx, dim):
    """The area between neighbours along `dim`."""
    length = y.size(dim) - 1
    if length < 0:
        return y
    sums = y.narrow(dim, 1, length) + y.narrow(dim, 0, length)
    if x is None:
        return sums * ((1.0 if dx is None else dx) / 2)
    width = diff(x, dim=dim if x.ndim > 1 else 0)
    if x.ndim == 1:
        shape = [1] * y.ndim
        shape[dim] = length
        width = width.reshape(shape)
    return sums * width / 2


def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral of y by trapezoids."""
    return _strips(y, x, dx, dim).sum(dim)


def cumulative_trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integrals of y up to each."""
    return _strips(y, x, dx, dim).cumsum(dim)


trapz = trapezoid


# --- searches ---------------------------------------------------------------------------------

def searchsorted(sorted_sequence, values, *, out_int32=False, right=False, side=None, sorter=None):
    """Where `values` belong in rows in order: how many stand before them."""
    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    if not isinstance(values, Tensor):
        values = _core.tensor(values, device=sorted_sequence.device)
    right = right or side == "right"
    rows, sought = sorted_sequence.unsqueeze(-2), values.unsqueeze(-1)
    before = rows <= sought if right else rows < sought
    found = before.sum(-1)
    if values.ndim == 0 and sorted_sequence.ndim == 1:
        found = found.reshape(())
    return found.int() if out_int32 else found


def bucketize(input, boundaries, *, out_int32=False, right=False):
    """The numbers of the intervals between `boundaries`."""
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Whether each element is among others."""
    if not isinstance(elements, Tensor):
        elements = _core.tensor(elements, device=test_elements.device)
    if not isinstance(test_elements, Tensor):
        test_elements = _core.tensor(test_elements, device=elements.device)
    found = (elements.unsqueeze(-1) == test_elements.reshape(-1)).any(-1)
    return ~found if invert else found


def unique_consecutive(x, return_inverse=False, return_counts=False, dim=None):
    """Of equal neighbours, elements or slices along `dim`, one."""
    shape, x = (x.shape, x.reshape(-1)) if dim is None else (None, x)
    dim = 0 if dim is None else _wrapped(x, dim)
    rows = _slices(x, dim)
    length = rows.size(0)
    new = cat([_core.ones(min(length, 1), dtype=_core.bool_, device=x.device),
               (rows[1:] != rows[:-1]).any(1)])
    first = new.nonzero().reshape(-1)
    out = [x.detach().index_select(dim, first)]
    if return_inverse:
        out.append((new.long().cumsum(0) - 1).reshape((length,) if shape is None else shape))
    if return_counts:
        out.append(diff(first, append=_core.tensor([length], device=x.device))
                   if length else first)
    return out[0] if len(out) == 1 else tuple(out)


def argwhere(x):
    """The positions of what is not zero: [count, x.ndim]."""
    return x.nonzero()


def histogram(input, bins, *, range=None, weight=None, density=False):
    """(counts of intervals of one length, their ends)."""
    from .creation import linspace
    if isinstance(bins, Tensor):
        raise _core.UnsupportedError("histogram: ends that are given; give their number")
    low, high = range or (float(input.min()), float(input.max()))
    if low == high:
        low, high = low - 0.5, high + 0.5
    ends = linspace(low, high, bins + 1, dtype=input.dtype, device=input.device)
    flat = input.detach().reshape(-1)
    place = searchsorted(ends, flat, right=True) - 1
    place = where(flat == high, bins - 1, place)
    inside = (flat >= low) & (flat <= high)
    weights = _core.ones(flat.shape, dtype=input.dtype, device=input.device) if weight is None \
        else weight.reshape(-1)
    counts = _core.zeros(bins, dtype=input.dtype, device=input.device).scatter_add(
        0, place[inside], weights[inside])
    if density:
        counts = counts / counts.sum() / diff(ends)
    return counts, ends


# --- spread -----------------------------------------------------------------------------------

def cov(x, *, correction=1, fweights=None, aweights=None):
    """Covariances of the rows."""
    x = x.reshape(1, -1) if x.ndim < 2 else x
    weight = _core.ones(x.size(1), dtype=x.dtype, device=x.device)
    for each in (fweights, aweights):
        weight = weight if each is None else weight * each.to(x.dtype)
    total = weight.sum()
    apart = x - ((x * weight).sum(1) / total).unsqueeze(1)
    if correction == 0 or aweights is None:
        count = total - correction
    else:
        count = total - correction * (weight * aweights.to(x.dtype)).sum() / total
    found = (apart * weight) @ apart.t() / count.clamp(min=0)
    return found.squeeze() if found.numel() == 1 else found


def corrcoef(x):
    """Correlations of the rows."""
    spread = cov(x)
    if spread.ndim == 0:
        return spread / spread
    deviation = spread.diagonal().sqrt()
    return (spread / deviation.unsqueeze(0) / deviation.unsqueeze(1)).clamp(-1, 1)


def renorm(x, p, dim, maxnorm):
    """Slices along `dim` scaled to a norm of at most `maxnorm`."""
    dim = _wrapped(x, dim)
    if x.ndim < 2:
        raise _core.ShapeError(f"renorm: at least two dimensions, not the shape {tuple(x.shape)}")
    others = [d for d in range(x.ndim) if d != dim]
    size = x.norm(p, others, True)
    return x * where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)
