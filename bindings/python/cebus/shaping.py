"""Shapes: what is composed of the C library's views."""
import itertools
import math

from . import _core
from ._core import Size, _wrapped, cat, where

METHODS = ("chunk repeat repeat_interleave tile flip fliplr flipud movedim moveaxis swapaxes "
           "swapdims expand_as view_as reshape_as type_as unflatten ravel adjoint tril triu diag "
           "trace broadcast_to tensor_split diag_embed sum_to_size").split()


def sum_to_size(x, *shape):
    """x summed over what a broadcast of `shape` to its own shape repeats."""
    shape = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    lead = x.dim() - len(shape)
    if lead < 0 or any(b not in (1, a) for a, b in zip(x.shape[lead:], shape)):
        raise _core.ShapeError(f"size {{{list(shape)}}} is not expandable to size "
                               f"{{{list(x.shape)}}}.")
    if lead:
        x = x.sum(tuple(range(lead)))
    repeated = tuple(d for d, b in enumerate(shape) if b == 1 and x.shape[d] != 1)
    return x.sum(repeated, keepdim=True) if repeated else x


def chunk(x, chunks, dim=0):
    """At most `chunks` pieces of one length along `dim` (the last may be shorter)."""
    if chunks <= 0:
        raise _core.InvalidArgumentError(f"chunk expects `chunks` to be greater than 0, got: "
                                         f"{chunks}")
    if x.size(dim) == 0:
        return x.split([0] * chunks, dim)
    return x.split(max(-(-x.size(dim) // chunks), 1), dim)


def tensor_split(x, sections, dim=0):
    """`sections` pieces whose lengths differ by one at most, or pieces cut at indices."""
    length = x.size(dim)
    if isinstance(sections, int):
        small, more = divmod(length, sections)
        return x.split([small + (i < more) for i in range(sections)], dim)
    cuts = [0] + [min(max(at if at >= 0 else at + length, 0), length) for at in sections] + [length]
    return tuple(x.narrow(dim, a, max(b - a, 0)) for a, b in zip(cuts, cuts[1:]))


def split(x, split_size_or_sections, dim=0):
    return x.split(split_size_or_sections, dim)


def _lengths(shape):
    return tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) \
        else tuple(shape)


def repeat(x, *sizes):
    """Copies side by side, sizes[i] of them along dimension i."""
    sizes = _lengths(sizes)
    if len(sizes) < x.ndim:
        raise _core.ShapeError("Number of dimensions of repeat dims can not be smaller than number "
                               "of dimensions of tensor")
    shape = (1,) * (len(sizes) - x.ndim) + tuple(x.shape)
    if any(not 0 <= times < 1 << 31 for times in sizes):
        raise _core.InvalidArgumentError(f"repeat: {list(sizes)} copies: each must be in [0, 2^31)")
    out = x.reshape(shape)
    for dim, times in enumerate(sizes):
        before, after = math.prod(shape[:dim]), math.prod(shape[dim:])
        shape = shape[:dim] + (shape[dim] * times,) + shape[dim + 1:]
        if times == 0:
            out = out.narrow(dim, 0, 0)
        elif times > 1:
            out = out.reshape(before, 1, after).expand(before, times, after).clone().reshape(shape)
    return out.clone() if all(times == 1 for times in sizes) else out


def tile(x, *sizes):
    sizes = _lengths(sizes)
    return repeat(x, (1,) * (x.ndim - len(sizes)) + sizes)


def _repeat_each(x, times, dim):
    """Every element along `dim` equally often in a row."""
    dim = _wrapped(x, dim)
    shape = x.shape[:dim] + (x.shape[dim] * times,) + x.shape[dim + 1:]
    before, after = math.prod(x.shape[:dim + 1]), math.prod(x.shape[dim + 1:])
    if times == 1:
        return x.clone()
    return x.reshape(before, 1, after).expand(before, times, after).clone().reshape(shape)


def repeat_interleave(x, repeats, dim=None):
    """Every element `repeats` times in a row."""
    if dim is None:
        x, dim = x.reshape(-1), 0
    counts = [repeats] if isinstance(repeats, int) else repeats.reshape(-1).tolist()
    if min(counts, default=0) < 0:
        raise _core.InvalidArgumentError(f"repeat_interleave: {min(counts)} times: repeats can not "
                                         "be negative")
    if len(counts) == 1:
        return _repeat_each(x, counts[0], dim)
    if len(counts) != x.size(dim):
        raise _core.ShapeError(f"repeat_interleave: {len(counts)} repeats for {x.size(dim)} "
                               f"elements along dimension {dim}")
    ends = list(itertools.accumulate(counts))
    total = ends[-1] if ends else 0
    like = {"dtype": _core.int64, "device": x.device}
    places = [0] + [end for end in ends[:-1] if end < total]
    begun = _core.zeros(total + 1, **like).scatter_add(0, _core.tensor(places, **like),
                                                       _core.ones(len(places), **like))
    index = begun.narrow(0, 0, total).cumsum(0) - 1
    return x.index_select(dim, index)


def flip(x, *order, dims=None):
    """Elements of the dimensions in reverse order."""
    dims = _lengths(order if dims is None else (dims,) if isinstance(dims, int) else dims)
    dims = [_wrapped(x, dim) for dim in dims]
    if len(set(dims)) < len(dims):
        raise _core.InvalidArgumentError(f"flip: a dimension appears more than once in {dims}")
    if x.ndim == 0 or not dims:
        return x.clone()
    for dim in dims:
        order = _core.arange(x.size(dim) - 1, -1, -1, device=x.device) if x.size(dim) else \
            _core.zeros((0,), dtype=_core.int64, device=x.device)
        x = x.index_select(dim, order)
    return x


def fliplr(x):
    return flip(x, 1)


def flipud(x):
    return flip(x, 0)


def movedim(x, source, destination):
    """Moves dimensions to other places; the rest keeps its order."""
    source = [source] if isinstance(source, int) else list(source)
    destination = [destination] if isinstance(destination, int) else list(destination)
    source = [_wrapped(x, dim) for dim in source]
    destination = [_wrapped(x, dim) for dim in destination]
    rest = iter(dim for dim in range(x.ndim) if dim not in source)
    order = [source[destination.index(i)] if i in destination else next(rest)
             for i in range(x.ndim)]
    return x.permute(order)


moveaxis = movedim


def swapaxes(x, dim0, dim1):
    return x.transpose(dim0, dim1)


swapdims = swapaxes


def adjoint(x):
    return x.transpose(-2, -1)


def expand_as(x, other):
    return x.expand(other.shape)


def view_as(x, other):
    return x.view(other.shape)


def reshape_as(x, other):
    return x.reshape(other.shape)


def type_as(x, other):
    return x.to(other)


def broadcast_to(x, shape):
    return x.expand(shape)


def ravel(x):
    return x.reshape(-1)


def unflatten(x, dim, sizes):
    """One dimension cut into several."""
    dim, sizes = _wrapped(x, dim), tuple(sizes)
    known = math.prod(each for each in sizes if each != -1)
    if sizes.count(-1) == 1 and known > 0 and x.shape[dim] % known == 0:
        sizes = tuple(x.shape[dim] // known if each == -1 else each for each in sizes)
    return x.reshape(tuple(x.shape[:dim]) + sizes + tuple(x.shape[dim + 1:]))


def _triangle(x, diagonal, lower):
    rows = _core.arange(x.size(-2), device=x.device).unsqueeze(1)
    columns = _core.arange(x.size(-1), device=x.device).unsqueeze(0)
    kept = columns - rows <= diagonal if lower else columns - rows >= diagonal
    return where(kept, x, False if x.dtype is _core.bool_ else 0)


def tril(x, diagonal=0):
    """The part of matrices on and below a diagonal; else zero."""
    return _triangle(x, diagonal, True)


def triu(x, diagonal=0):
    """The part of matrices on and above a diagonal; else zero."""
    return _triangle(x, diagonal, False)


def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    """Matrices with the last dimension on a diagonal of the dimensions dim1 and dim2."""
    n, wide = x.size(-1), abs(offset)
    out = _core.where(eye_like(x) != 0, x.unsqueeze(-1), x.new_zeros(()))
    if offset > 0:
        out = _core.pad_constant(out, (wide, 0, 0, wide), 0.0)
    elif offset < 0:
        out = _core.pad_constant(out, (0, wide, wide, 0), 0.0)
    dim1, dim2 = _wrapped(out, dim1), _wrapped(out, dim2)
    return out if (dim1, dim2) == (x.ndim - 1, x.ndim) else \
        movedim(out, (-2, -1), (dim1, dim2))


def eye_like(x):
    n = x.size(-1)
    index = _core.arange(n, device=x.device)
    return (index.unsqueeze(0) == index.unsqueeze(1)).to(x.dtype)


def diag(x, diagonal=0):
    """Of a vector the matrix with it on a diagonal; of a matrix that diagonal."""
    if x.ndim not in (1, 2):
        raise _core.ShapeError(f"diag: a vector or a matrix, not the shape {tuple(x.shape)}")
    return x.diagonal(diagonal).clone() if x.ndim == 2 else diag_embed(x, diagonal)


def trace(x):
    if x.ndim != 2:
        raise _core.ShapeError(f"trace: expected a matrix, but got the shape {tuple(x.shape)}")
    return x.diagonal().sum()


# --- functions of several tensors -------------------------------------------------------------

def broadcast_shapes(*shapes):
    """The common shape that shapes are broadcast to."""
    ndim = max((len(shape) for shape in shapes), default=0)
    out = [1] * ndim
    for shape in shapes:
        for i, length in enumerate(reversed(shape), 1):
            if length != 1 and out[-i] not in (1, length):
                raise _core.ShapeError("Shape mismatch: objects cannot be broadcast to a single "
                                       "shape")
            out[-i] = length if length != 1 else out[-i]
    return Size(out)


def broadcast_tensors(*tensors):
    shape = broadcast_shapes(*[x.shape for x in tensors])
    return tuple(x.expand(shape) for x in tensors)


def _check_axes(tensors, indexing):
    if not tensors:
        raise _core.InvalidArgumentError("meshgrid: it takes at least one tensor")
    if indexing not in ("ij", "xy"):
        raise _core.InvalidArgumentError(f"meshgrid: indexing is 'ij' or 'xy', not {indexing!r}")
    for x in tensors:
        if x.ndim > 1:
            raise _core.ShapeError(f"meshgrid: vectors and numbers, not the shape "
                                   f"{tuple(x.shape)}")
        if x.dtype != tensors[0].dtype:
            raise _core.DtypeError("meshgrid: all tensors must be of one type")


def meshgrid(*tensors, indexing="ij"):
    """Coordinates of a grid of vectors (a number is one of a single element)."""
    tensors = _lengths(tensors)
    n = len(tensors)
    _check_axes(tensors, indexing)
    if indexing == "xy" and n > 1:
        first, second, *rest = meshgrid(tensors[1], tensors[0], *tensors[2:])
        return (second, first, *rest)
    shape = tuple(x.numel() for x in tensors)
    return tuple(x.reshape((1,) * i + (-1,) + (1,) * (n - 1 - i)).expand(shape)
                 for i, x in enumerate(tensors))


def atleast_1d(x):
    return x.reshape(1) if x.ndim == 0 else x


def atleast_2d(x):
    return x.reshape(1, -1) if x.ndim < 2 else x


def vstack(tensors):
    return cat([atleast_2d(x) for x in tensors], 0)


def hstack(tensors):
    tensors = [atleast_1d(x) for x in tensors]
    return cat(tensors, 0 if tensors[0].ndim == 1 else 1)


def block_diag(*tensors):
    tensors = [atleast_2d(x) for x in tensors]
    columns = sum(x.size(-1) for x in tensors)
    rows, at = [], 0
    for x in tensors:
        rows.append(_core.pad_constant(x, (at, columns - at - x.size(-1)), 0.0))
        at += x.size(-1)
    return cat(rows, 0)


concat = concatenate = cat
row_stack = vstack
FUNCTIONS = ("split broadcast_shapes broadcast_tensors meshgrid atleast_1d atleast_2d vstack "
             "hstack block_diag concat concatenate row_stack").split()
