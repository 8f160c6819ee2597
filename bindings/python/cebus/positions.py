"""Sorting and positions. Orders are found on the host; values are gathered on the device, so that
gradients flow."""
from . import _core
from ._core import ValuesAndIndices, where
from .shaping import broadcast_shapes

METHODS = ("sort argsort topk kthvalue unique bincount masked_select take take_along_dim scatter "
           "index_add index_fill index_copy index_put histc").split()


def _order(x, dim, descending):
    """Indices that sort along `dim`: stable; NaN is largest."""
    moved = x.detach().movedim(dim, -1)
    if moved.dtype in (_core.float16, _core.bfloat16):
        moved = moved.float()
    length = moved.size(-1)
    host = moved.reshape(-1, length).tolist() if moved.numel() else []
    order = []
    for row in host:
        key = lambda i: (row[i] != row[i], row[i])  # noqa: E731
        order.extend(_stable(range(length), key, descending))
    index = _core.tensor(order, dtype=_core.int64, device=x.device)
    return index.reshape(moved.shape).movedim(-1, dim)


def _stable(indices, key, descending):
    return sorted(indices, key=key, reverse=descending)


def _order_by_numpy(x, dim, descending):
    import numpy
    host = x.detach()
    if host.dtype in (_core.float16, _core.bfloat16):
        host = host.float()
    array = numpy.frombuffer(_bytes(host), dtype=host.dtype.name).reshape(tuple(host.shape))
    if descending:
        flipped = numpy.flip(array, dim)
        found = numpy.argsort(flipped, axis=dim, kind="stable")
        found = numpy.flip(array.shape[dim] - 1 - found, dim)
    else:
        found = numpy.argsort(array, axis=dim, kind="stable")
    return _core.tensor(numpy.ascontiguousarray(found, dtype="int64"), device=x.device)


def _bytes(x):
    return memoryview(x.contiguous().cpu()).tobytes()


def argsort(x, dim=-1, descending=False, stable=False):
    """Indices that put `dim` in order."""
    dim = _core._wrapped(x, dim)
    if x.ndim == 0 or x.numel() == 0:
        return _core.zeros(x.shape, dtype=_core.int64, device=x.device)
    try:
        return _order_by_numpy(x, dim, descending)
    except ImportError:
        return _order(x, dim, descending)


def sort(x, dim=-1, descending=False, stable=False):
    """(values, indices) in order along `dim`; equal ones keep theirs."""
    order = argsort(x, dim, descending)
    return ValuesAndIndices(x.gather(dim, order) if x.ndim else x.clone(), order)


def topk(x, k, dim=-1, largest=True, sorted=True):  # noqa: A002
    """The k largest (or smallest) along `dim`, in order: (values, indices)."""
    if not 0 <= k <= (x.size(dim) if x.ndim else 1):
        raise _core.OutOfRangeError("selected index k out of range")
    order = argsort(x, dim, largest)
    order = order.narrow(dim, 0, k) if x.ndim else order
    return ValuesAndIndices(x.gather(dim, order) if x.ndim else x.clone(), order)


def kthvalue(x, k, dim=-1, keepdim=False):
    """The k-th smallest along `dim`, k from 1: (value, index)."""
    values, indices = topk(x, k, dim, largest=False)
    if x.ndim == 0:
        return ValuesAndIndices(values, indices)
    pick = [each.narrow(dim, k - 1, 1) for each in (values, indices)]
    return ValuesAndIndices(*(pick if keepdim else [each.squeeze(dim) for each in pick]))


def unique(x, sorted=True, return_inverse=False, return_counts=False, dim=None):  # noqa: A002
    """The different elements in order, or slices along `dim` in the order of their elements; on
    request where each went and how often it is there."""
    if dim is not None:
        dim = _core._wrapped(x, dim)
        found = _unique([tuple(row) for row in _slices(x, dim).tolist()])
        out = x.detach().index_select(dim, _core.tensor(found[0], dtype=_core.int64,
                                                        device=x.device))
        shape = (x.size(dim),)
    else:
        host = x.detach().reshape(-1).tolist()
        found = _unique(host)
        out = _core.tensor([host[i] for i in found[0]], dtype=x.dtype, device=x.device)
        shape = x.shape
    more = [_core.tensor(each, dtype=_core.int64, device=x.device) for each in found[1:]]
    more = [more[0].reshape(shape)] * return_inverse + [more[1]] * return_counts
    return (out, *more) if more else out


def _unique(values):
    """(where each different value is first, in their order; where each went; how often each is
    there). NaN is largest, and differs from itself."""
    order = _builtin_sorted(range(len(values)), key=lambda i: (values[i] != values[i], values[i]))
    first, inverse, counts = [], [0] * len(values), []
    for i in order:
        if not first or values[first[-1]] != values[i]:
            first.append(i)
            counts.append(0)
        counts[-1] += 1
        inverse[i] = len(first) - 1
    return first, inverse, counts


def _slices(x, dim):
    """The slices along `dim` as rows."""
    if x.ndim == 0:
        raise _core.OutOfRangeError("unique: a number has no slices along a dimension")
    if 0 in (n for d, n in enumerate(x.shape) if d != dim):
        raise _core.ShapeError(f"slices along dimension {dim} of {tuple(x.shape)} have no elements")
    length = x.size(dim)
    return x.detach().movedim(dim, 0).reshape(length, x.numel() // length if length else 1)


_builtin_sorted = sorted


def bincount(x, weights=None, minlength=0):
    """How often each whole number from 0 on is there, or the sum of its weights."""
    length = max(int(x.max()) + 1 if x.numel() else 0, minlength)
    if weights is None:
        weights = _core.ones(x.shape, dtype=_core.int64, device=x.device)
    elif weights.dtype is not _core.float32:
        weights = weights.double()
    kind, what = weights.dtype, weights
    return _core.zeros((length,), dtype=kind, device=x.device).scatter_add(0, x.long(), what)


def histc(x, bins=100, min=0, max=0):  # noqa: A002
    """Counts of `bins` intervals of one length in [min, max]."""
    low, high = (float(x.min()), float(x.max())) if min == max == 0 else (float(min), float(max))
    if low == high:
        low, high = low - 1, high + 1
    inside = x.reshape(-1).detach()
    inside = inside[(inside >= low) & (inside <= high)]
    place = ((inside - low) * (bins / (high - low))).long().clamp(0, bins - 1)
    return bincount(place, minlength=bins).to(x.dtype)


def masked_select(x, mask):
    """The elements where `mask` holds, a vector."""
    shape = broadcast_shapes(x.shape, mask.shape)
    return x.expand(shape)[mask.expand(shape)]


def take(x, index):
    """Elements of the row-major sequence."""
    return x.reshape(-1)[index]


def take_along_dim(x, indices, dim=None):
    """Elements at `indices` along `dim`; beside it both are broadcast."""
    if dim is None:
        return x.reshape(-1).gather(0, indices.reshape(-1))
    dim = _core._wrapped(x, dim)
    if x.ndim != indices.ndim:
        raise _core.ShapeError(f"take_along_dim: indices of the shape {tuple(indices.shape)} for "
                               f"{tuple(x.shape)}")
    apart = [[1 if d == dim else n for d, n in enumerate(each.shape)] for each in (x, indices)]
    common = broadcast_shapes(*apart)
    x, indices = [each.expand([each.size(dim) if d == dim else n for d, n in enumerate(common)])
                  for each in (x, indices)]
    return x.gather(dim, indices)


def _hits(x, dim, index):
    """Where x is written at all, as bool."""
    ones = _core.ones(index.shape, dtype=_core.int32, device=x.device)
    return _core.zeros(x.shape, dtype=_core.int32, device=x.device).scatter_add(dim, index, ones)


def scatter(x, dim, index, src=None, *, value=None, reduce=None):
    """A copy with `src` (or `value`) at the positions that `index` names along `dim`; of equal
    positions the last wins."""
    source = value if src is None else src
    if reduce not in (None, "add", "multiply"):
        raise _core.InvalidArgumentError("reduce argument must be either add or multiply, got "
                                         f"{reduce}")
    if not hasattr(source, "gather"):
        number = _core.full((), source, dtype=x.dtype, device=x.device)
        if reduce is None:
            return where(_hits(x, dim, index) != 0, number, x)
        source = number.expand(index.shape)
    if reduce == "add":
        return x.scatter_add(dim, index, source)
    if reduce == "multiply":
        return x.scatter_reduce(dim, index, source, "prod")
    return _core._written(x, dim, index, source[tuple(slice(0, n) for n in index.shape)])


def _spread(x, dim, index):
    """An index of slices as an index of elements."""
    shape = [1] * x.ndim
    shape[dim] = index.numel()
    full = list(x.shape)
    full[dim] = index.numel()
    return index.reshape(shape).expand(full)


def _check_slices(op, x, dim, index, source):
    """Slices that go with x, one an index."""
    dim = _core._wrapped(x, dim)
    wanted = [index.numel() if d == dim else n for d, n in enumerate(x.shape)]
    if index.ndim > 1 or x.ndim and source.ndim and list(source.shape) != wanted:
        raise _core.ShapeError(f"{op}: {tuple(index.shape)} indices for slices of "
                               f"{tuple(source.shape)} along dimension {dim} of {tuple(x.shape)}")
    if source.dtype != x.dtype:
        raise _core.DtypeError(f"{op}: the source is of {source.dtype}, not of {x.dtype}")


def index_add(x, dim, index, source, *, alpha=1):
    """A copy to which slices of `source` were added at `index` along `dim`."""
    _check_slices("index_add", x, dim, index, source)
    source = source if alpha == 1 else source * alpha
    return x.scatter_add(dim, _spread(x, dim, index).contiguous(), source)


def index_copy(x, dim, index, source):
    """A copy with slices of `source` at `index` along `dim`."""
    _check_slices("index_copy", x, dim, index, source)
    if x.ndim == 0:
        return index_copy(x.reshape(1), 0, index, source.reshape(1)).reshape(())
    return scatter(x, dim, _spread(x, dim, index).contiguous(), source)


def index_fill(x, dim, index, value):
    """A copy with `value` in the slices `index` of `dim`; negative ones count from the end."""
    if index.ndim > 1:
        raise _core.ShapeError(f"index_fill: a vector of indices, not the shape "
                               f"{tuple(index.shape)}")
    value = value.item() if hasattr(value, "item") else value
    if not x.is_floating_point():
        value = bool(value) if x.dtype is _core.bool_ else int(value)
    if x.ndim == 0:
        _core._wrapped(x, dim)
        return index_fill(x.reshape(1), 0, index, value).reshape(())
    index = where(index < 0, index + x.size(dim), index)
    return where(_hits(x, dim, _spread(x, dim, index).contiguous()) != 0,
                 value, x)


def index_put(x, indices, values, accumulate=False):
    """A copy with `values` at the positions that index tensors name."""
    out = x.clone()
    if not accumulate:
        out[tuple(indices)] = values
        return out
    places = _core.arange(x.numel(), device=x.device).reshape(x.shape)[tuple(indices)]
    flat = x.reshape(-1).scatter_add(0, places.reshape(-1),
                                     values.expand(places.shape).reshape(-1))
    return flat.reshape(x.shape)
