"""Shapes and places, continued: what is written into copies, cut, turned and combined."""
import itertools
import math

from . import _core
from ._core import Tensor, _wrapped, cat, where
from .positions import _hits, scatter

METHODS = ("hsplit vsplit dsplit rot90 diagflat select_scatter slice_scatter diagonal_scatter "
           "fill_diagonal_ split_with_sizes unsafe_chunk unsafe_split narrow_copy "
           "masked_scatter put scatter_reduce swapaxes_ swapdims_ resize_as_ is_same_size "
           "is_nonzero is_signed is_inference is_pinned is_shared is_set_to as_subclass").split()
FUNCTIONS = ("atleast_3d dstack column_stack cartesian_prod combinations vander").split()


# --- cut --------------------------------------------------------------------------------------

def hsplit(x, sections):
    """tensor_split along columns (of a vector along its elements)."""
    return _split_evenly("hsplit", x, sections, 0 if x.ndim == 1 else 1)


def vsplit(x, sections):
    return _split_evenly("vsplit", x, sections, 0)


def dsplit(x, sections):
    return _split_evenly("dsplit", x, sections, 2)


def _split_evenly(op, x, sections, dim):
    if isinstance(sections, int) and (sections <= 0 or x.size(dim) % sections):
        raise _core.ShapeError(f"{op}: dimension {dim} of {tuple(x.shape)} does not fall into "
                               f"{sections} pieces of one length")
    return x.tensor_split(sections, dim)


def split_with_sizes(x, split_sizes, dim=0):
    return x.split(split_sizes, dim)


def unsafe_chunk(x, chunks, dim=0):
    return x.chunk(chunks, dim)


def unsafe_split(x, split_size, dim=0):
    return x.split(split_size, dim)


def narrow_copy(x, dim, start, length):
    return x.narrow(dim, start, length).clone()


# --- joined -----------------------------------------------------------------------------------

def atleast_3d(x):
    if x.ndim < 2:
        return x.reshape(1, -1, 1)
    return x.unsqueeze(-1) if x.ndim == 2 else x


def dstack(tensors):
    """Joined along a third dimension."""
    return cat([atleast_3d(x) for x in tensors], 2)


def column_stack(tensors):
    """Vectors as columns."""
    return cat([x.reshape(-1, 1) if x.ndim < 2 else x for x in tensors], 1)


def _vector(op, x):
    if x.ndim != 1:
        raise _core.ShapeError(f"{op}: expected a vector, but got the shape {tuple(x.shape)}")


def cartesian_prod(*tensors):
    """All choices of one element of each vector, as rows."""
    for x in tensors:
        _vector("cartesian_prod", x)
    if len(tensors) == 1:
        return tensors[0]
    from .shaping import meshgrid
    return _core.stack([x.reshape(-1) for x in meshgrid(*tensors, indexing="ij")], 1)


def combinations(input, r=2, with_replacement=False):
    """All choices of r elements of a vector, as rows."""
    _vector("combinations", input)
    choose = itertools.combinations_with_replacement if with_replacement else \
        itertools.combinations
    rows = list(choose(range(input.numel()), r))
    index = _core.tensor(rows, dtype=_core.int64, device=input.device).reshape(len(rows), r)
    return input[index] if rows else input.new_zeros(0, r)


def vander(x, N=None, increasing=False):
    """Powers of a vector's elements, as columns."""
    _vector("vander", x)
    n = x.numel() if N is None else N
    powers = range(n) if increasing else range(n - 1, -1, -1)
    return _core.stack([x ** k for k in powers], -1) if n else x.new_zeros(x.numel(), 0)


# --- turned -----------------------------------------------------------------------------------

def rot90(x, k=1, dims=(0, 1)):
    """Turned k times by 90 degrees in the plane of two dimensions."""
    a, b = [_wrapped(x, d) for d in dims]
    if a == b:
        raise _core.InvalidArgumentError(f"rot90: twice the same dimension, {tuple(dims)}")
    k = k % 4
    if k == 2:
        return x.flip(a, b)
    if k == 1:
        return x.flip(b).transpose(a, b)
    return x.flip(a).transpose(a, b) if k == 3 else x.clone()


def swapaxes_(x, dim0, dim1):
    return x.transpose_(dim0, dim1)


swapdims_ = swapaxes_


def resize_as_(x, other):
    """x in another shape of as many elements, in the order in which they lie in memory."""
    if x.numel() != other.numel():
        raise _core.UnsupportedError("resize_as_: cebus does not change how many elements a tensor "
                                     "has; make another")
    order = sorted(range(x.ndim), key=lambda dim: -x.stride(dim))
    turned = x.permute(order)
    if not turned.is_contiguous():
        raise _core.UnsupportedError("resize_as_: the elements do not lie side by side in memory: "
                                     ".contiguous() it first")
    return _core._adopt(x, turned.reshape(other.shape))


# --- written into copies ----------------------------------------------------------------------

def diagflat(x, offset=0):
    """A matrix with the elements on a diagonal."""
    return x.reshape(-1).diag(offset)


def _written(x, write):
    out = x.clone()
    write(out)
    return out


def select_scatter(x, src, dim, index):
    """A copy in which one index of `dim` is `src`."""
    _is_like("select_scatter", x.detach().select(dim, index), src)
    return _written(x, lambda out: out.select(dim, index).copy_(src))


def _is_like(op, part, src):
    if part.shape != src.shape:
        raise _core.ShapeError(f"{op}: {tuple(src.shape)} for a part of the shape "
                               f"{tuple(part.shape)}")


def slice_scatter(x, src, dim=0, start=None, end=None, step=1):
    """A copy in which a slice of `dim` is `src`."""
    key = (slice(None),) * _wrapped(x, dim) + (slice(start, end, step),)
    _is_like("slice_scatter", x.detach()[key], src)

    def write(out):
        out[key] = src
    return _written(x, write)


def _on_diagonal(x, offset, dim1, dim2):
    """Where the diagonal of two dimensions is, and how it is reached: (mask, row index)."""
    rows, columns = x.size(dim1), x.size(dim2)
    shape = [1] * x.ndim
    shape[_wrapped(x, dim1)] = rows
    i = _core.arange(rows, device=x.device).reshape(shape)
    shape = [1] * x.ndim
    shape[_wrapped(x, dim2)] = columns
    j = _core.arange(columns, device=x.device).reshape(shape)
    return i + offset == j, i, j


def diagonal_scatter(x, src, offset=0, dim1=0, dim2=1):
    """A copy whose diagonal is `src`."""
    _is_like("diagonal_scatter", x.detach().diagonal(offset, dim1, dim2), src)
    mask, i, j = _on_diagonal(x, offset, dim1, dim2)
    length = src.size(-1)
    place = (i if offset >= 0 else j).clamp(max=max(length - 1, 0))
    low, high = sorted((_wrapped(x, dim1), _wrapped(x, dim2)))
    spread = src.movedim(-1, low).unsqueeze(high)
    along = place.expand(x.shape).contiguous()
    full = list(x.shape)
    full[low] = length
    return where(mask, spread.expand(full).contiguous().gather(low, along), x)


def fill_diagonal_(x, fill_value, wrap=False):
    """Writes a value on the main diagonal."""
    if x.ndim < 2 or x.ndim > 2 and len(set(x.shape)) > 1:
        raise _core.ShapeError("fill_diagonal_: a matrix, or more dimensions of one length, not "
                               f"{tuple(x.shape)}")
    if wrap and x.ndim == 2:
        rows, columns = x.shape
        flat = _core.arange(rows * columns, device=x.device).reshape(rows, columns)
        return x.copy_(where(flat.remainder(columns + 1) == 0, fill_value, x))
    mask = None
    for dim in range(1, x.ndim):
        here = _on_diagonal(x, 0, 0, dim)[0]
        mask = here if mask is None else mask & here
    return x.copy_(where(mask, fill_value, x))


def masked_scatter(x, mask, source):
    """A copy in which the places of `mask` get the elements of `source` in turn."""
    from .shaping import broadcast_shapes
    _one_type("masked_scatter", x, source)
    if mask.dtype not in (_core.bool_, _core.uint8):
        raise _core.DtypeError(f"masked_scatter: the mask is of bool, not of {mask.dtype}")
    shape = broadcast_shapes(x.shape, mask.shape)
    mask = mask.expand(shape) != 0
    if source.numel() < mask.numel() and source.numel() < int(mask.sum()):
        raise _core.ShapeError(f"masked_scatter: {source.numel()} elements for the "
                               f"{int(mask.sum())} places of the mask")
    if source.numel() == 0:
        return x.expand(shape).clone()
    place = (mask.reshape(-1).long().cumsum(0) - 1).clamp(min=0)
    taken = source.reshape(-1).index_select(0, place.clamp(max=source.numel() - 1))
    return where(mask, taken.reshape(shape), x)


def _one_type(op, x, source):
    if x.dtype != source.dtype:
        raise _core.DtypeError(f"{op}: the source is of {source.dtype}, not of {x.dtype}")


def put(x, index, source, accumulate=False):
    """A copy with `source` at positions of the row-major sequence."""
    _one_type("put", x, source)
    if index.dtype != _core.int64:
        raise _core.DtypeError(f"put: positions are of int64, not of {index.dtype}")
    if index.numel() != source.numel():
        raise _core.OutOfRangeError(f"put: {source.numel()} elements for {index.numel()} positions")
    flat, index = x.reshape(-1), index.reshape(-1)
    index = where(index < 0, index + x.numel(), index)
    source = source.reshape(-1)
    out = flat.scatter_add(0, index, source) if accumulate else scatter(flat, 0, index, source)
    return out.reshape(x.shape)


def scatter_reduce(x, dim, index, src, reduce, *, include_self=True):
    """A copy in which `src` is added to, multiplied into, or compared with what `index` names:
    sum, mean, prod, amax, amin."""
    src = src[tuple(slice(0, n) for n in index.shape)]
    hits = _hits(x, dim, index)
    base = x if include_self else where(hits != 0, _neutral(reduce, x, src), x)
    if reduce == "sum":
        return base.scatter_add(dim, index, src)
    if reduce == "mean":
        count = (hits + (1 if include_self else 0)).clamp(min=1)
        total = base.scatter_add(dim, index, src)
        return total / count if x.is_floating_point() else total // count
    if reduce in ("prod", "amax", "amin"):
        return _one_by_one(base, _wrapped(x, dim), index, src, reduce)
    raise _core.InvalidArgumentError("reduce argument must be either sum, prod, mean, amax or "
                                     f"amin, got {reduce}")


def _neutral(reduce, x, src):
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if not x.is_floating_point():
        return (src.amin() if reduce == "amax" else src.amax()) if src.numel() else 0
    return -math.inf if reduce == "amax" else math.inf


def _one_by_one(x, dim, index, src, reduce):
    """What shares a place is joined, one index of `dim` after the other."""
    join = {"prod": Tensor.mul, "amax": Tensor.maximum, "amin": Tensor.minimum}[reduce]
    places = _core.arange(x.size(dim), device=x.device).reshape(
        [-1 if d == dim else 1 for d in range(x.ndim)])
    if any(index.size(d) != x.size(d) for d in range(x.ndim) if d != dim):
        raise _core.UnsupportedError(f"scatter_reduce: {reduce!r} with an index that is shorter "
                                     "than the tensor beside `dim`")
    for k in range(index.size(dim)):
        hit = places == index.narrow(dim, k, 1)
        x = where(hit, join(x, src.narrow(dim, k, 1)), x)
    return x


# --- questions --------------------------------------------------------------------------------

def is_same_size(x, other):
    return x.shape == other.shape


def is_nonzero(x):
    """Whether a single element is not zero."""
    return bool(x)


def is_signed(x):
    return x.dtype.is_signed


def is_inference(x):
    """No tensor is apart from the graph for good."""
    return False


def is_pinned(x):
    return False


def is_shared(x):
    return False


def is_set_to(x, other):
    return x is other or (x.data_ptr() == other.data_ptr() and x.shape == other.shape
                          and x.stride() == other.stride())


def as_subclass(x, cls):
    """The same as an instance of a subclass."""
    out = Tensor.__new__(cls)
    return _core._adopt(out, x)
