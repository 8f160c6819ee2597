"""Products that the C library leaves to composition: everything becomes one matmul."""
import math

from . import _core

METHODS = ("dot mv outer ger inner addmm addmv baddbmm addbmm addr tensordot vdot kron cross "
           "matrix_power").split()


def _dims(op, *pairs):
    """Refuses operands that have other numbers of dimensions than those given."""
    for x, ndim in pairs:
        if x.ndim != ndim:
            raise _core.ShapeError(f"{op}: expected a tensor of {ndim} dimensions, but got "
                                   f"{x.ndim} of the shape {tuple(x.shape)}")


def dot(x, other):
    """Inner product of two vectors."""
    _dims("dot", (x, 1), (other, 1))
    return x @ other


vdot = dot


def mv(x, vector):
    """The product of a matrix and a vector."""
    _dims("mv", (x, 2), (vector, 1))
    return x @ vector


def outer(x, other):
    """x_i y_j"""
    _dims("outer", (x, 1), (other, 1))
    return x.unsqueeze(1) * other.unsqueeze(0)


ger = outer


def inner(x, other):
    if x.ndim == 0 or other.ndim == 0:
        return x * other
    return x @ other if x.ndim == 1 and other.ndim == 1 else tensordot(x, other, ([-1], [-1]))


def _added(op, x, product, beta, alpha):
    """beta x + alpha product, of the shape of the product; x is not read where beta is 0."""
    _fits(op, x, product.shape)
    product = product if alpha == 1 else alpha * product
    if beta == 0:
        return _core.where(_core.zeros((), dtype=_core.bool_, device=x.device), x, product)
    return (x if beta == 1 else beta * x) + product


def _fits(op, x, shape):
    lengths = zip(reversed(x.shape), reversed(shape))
    if x.ndim > len(shape) or not all(n in (1, m) for n, m in lengths):
        raise _core.ShapeError(f"{op}: the shape {tuple(x.shape)} does not expand to "
                               f"{tuple(shape)}, the shape of the product")


def _in_its_type(x, product, a):
    """x beside a product: in a block of autocast all of it in 16 bits."""
    return x if product.dtype == a.dtype else x.to(product.dtype)


def addmm(x, a, b, *, beta=1, alpha=1):
    """beta x + alpha a b of matrices"""
    _dims("addmm", (a, 2), (b, 2))
    product = a @ b
    return _added("addmm", _in_its_type(x, product, a), product, beta, alpha)


def addmv(x, a, b, *, beta=1, alpha=1):
    """beta x + alpha a b of a matrix and a vector"""
    _dims("addmv", (a, 2), (b, 1))
    product = a @ b
    return _added("addmv", _in_its_type(x, product, a), product, beta, alpha)


def _batch(op, a, b):
    _dims(op, (a, 3), (b, 3))
    if a.size(0) != b.size(0):
        raise _core.ShapeError(f"{op}: batches of {a.size(0)} and {b.size(0)} matrices")
    return a @ b


def baddbmm(x, a, b, *, beta=1, alpha=1):
    """beta x + alpha a b of each matrix of two batches"""
    product = _batch("baddbmm", a, b)
    return _added("baddbmm", _in_its_type(x, product, a), product, beta, alpha)


def addbmm(x, a, b, *, beta=1, alpha=1):
    """beta x + alpha (the sum of the products of the matrices of two batches)"""
    return _added("addbmm", x, _batch("addbmm", a, b).sum(0), beta, alpha)


def addr(x, a, b, *, beta=1, alpha=1):
    """beta x + alpha (a_i b_j)"""
    _dims("addr", (a, 1), (b, 1))
    return _added("addr", x, outer(a, b), beta, alpha)


def cross(x, other, dim=None):
    """The product of vectors of three elements along `dim` (the first of that length)."""
    from .shaping import broadcast_tensors
    _dims("cross", (other, x.ndim))
    if dim is None:
        dim = next((d for d, n in enumerate(x.shape) if n == 3), None)
        if dim is None:
            raise _core.ShapeError("cross: no dimension of size 3 in input")
    if x.size(dim) != 3 or other.size(dim) != 3:
        raise _core.ShapeError(f"cross: dimension {dim} does not have size 3")
    x, other = broadcast_tensors(x, other)
    return x.roll(-1, dim) * other.roll(-2, dim) - x.roll(-2, dim) * other.roll(-1, dim)


def matrix_power(x, n):
    """The n-th power of square matrices, by squaring."""
    if n < 0:
        from .linalg import inv
        return matrix_power(inv(x), -n)
    from .shaping import eye_like
    out, square = None, x
    while n:
        if n & 1:
            out = square if out is None else out @ square
        n >>= 1
        square = square @ square if n else square
    return eye_like(x).expand(x.shape).clone() if out is None else out


def multi_dot(tensors):
    """The product of several matrices, multiplied in the cheapest order (Cormen et al., 15.2)."""
    tensors = list(tensors)
    first, last = tensors[0].ndim == 1, tensors[-1].ndim == 1
    if first:
        tensors[0] = tensors[0].unsqueeze(0)
    if last:
        tensors[-1] = tensors[-1].unsqueeze(1)
    sizes = [x.size(0) for x in tensors] + [tensors[-1].size(1)]
    best = {(i, i): (0, None) for i in range(len(tensors))}
    for length in range(1, len(tensors)):
        for i in range(len(tensors) - length):
            j = i + length
            best[i, j] = min((best[i, k][0] + best[k + 1, j][0]
                              + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))

    def product(i, j):
        return tensors[i] if i == j else product(i, best[i, j][1]) @ product(best[i, j][1] + 1, j)
    out = product(0, len(tensors) - 1)
    out = out.squeeze(0) if first else out
    return out.squeeze(-1) if last else out


def kron(x, other):
    """Every element of x times all of `other`."""
    ndim = max(x.ndim, other.ndim)
    a = x.reshape((1,) * (ndim - x.ndim) + tuple(x.shape))
    b = other.reshape((1,) * (ndim - other.ndim) + tuple(other.shape))
    left = a.reshape([n for length in a.shape for n in (length, 1)])
    right = b.reshape([n for length in b.shape for n in (1, length)])
    return (left * right).reshape([m * n for m, n in zip(a.shape, b.shape)])


def tensordot(x, other, dims=2):
    """Sums products over pairs of dimensions."""
    if isinstance(dims, int):
        if not 0 <= dims <= min(x.ndim, other.ndim):
            raise _core.InvalidArgumentError(f"tensordot: {dims} dimensions of tensors that have "
                                             f"{x.ndim} and {other.ndim}")
        left, right = list(range(x.ndim - dims, x.ndim)), list(range(dims))
    else:
        left, right = [[each] if isinstance(each, int) else list(each) for each in dims]
    left = [_core._wrapped(x, dim) for dim in left]
    right = [_core._wrapped(other, dim) for dim in right]
    if [x.size(dim) for dim in left] != [other.size(dim) for dim in right]:
        raise _core.ShapeError(f"tensordot: dimensions {left} of {tuple(x.shape)} are not as long "
                               f"as {right} of {tuple(other.shape)}")
    free = [dim for dim in range(x.ndim) if dim not in left]
    rest = [dim for dim in range(other.ndim) if dim not in right]
    summed = 1
    for dim in left:
        summed *= x.size(dim)
    a = x.permute(free + left).reshape(math.prod(x.size(dim) for dim in free), summed)
    b = other.permute(right + rest).reshape(summed, math.prod(other.size(dim) for dim in rest))
    return (a @ b).reshape([x.size(dim) for dim in free] + [other.size(dim) for dim in rest])


# --- einsum -----------------------------------------------------------------------------------

def _parse(equation, operands):
    """Labels of each operand and of the result; "..." stands for capital letters."""
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    for c in equation.replace("...", "").replace("->", "").replace(",", ""):
        if not (c.isascii() and c.isalpha()):
            raise _core.InvalidArgumentError(f"einsum(): {c!r} in {equation!r} is no label: labels "
                                             "are letters")
    if len(terms) != len(operands):
        raise _core.InvalidArgumentError(f"einsum(): {len(terms)} terms for {len(operands)} "
                                         "operands")
    most = 0
    for term, x in zip(terms, operands):
        named = len(term.replace("...", ""))
        if named > x.ndim or (named < x.ndim and "..." not in term):
            raise _core.ShapeError(f"einsum(): the term {term!r} does not fit the shape "
                                   f"{tuple(x.shape)}")
        most = max(most, x.ndim - named)
    dots = "".join(chr(0x100 + i) for i in range(most))
    labels = []
    for term, x in zip(terms, operands):
        covered = x.ndim - len(term.replace("...", ""))
        labels.append(term.replace("...", dots[len(dots) - covered:]))
    if arrow:
        return labels, right.replace("...", dots)
    joined = "".join(labels)
    return labels, dots + "".join(sorted(c for c in set(joined) - set(dots)
                                         if joined.count(c) == 1))


def _once(x, labels):
    """Repeated labels of one operand become its diagonal."""
    for label in sorted(set(labels)):
        while labels.count(label) > 1:
            first, second = [i for i, c in enumerate(labels) if c == label][:2]
            if x.size(first) != x.size(second):
                raise _core.ShapeError(f"einsum(): {label!r} is {x.size(first)} and "
                                       f"{x.size(second)} long in one operand")
            x = x.diagonal(0, first, second)
            labels = "".join(c for i, c in enumerate(labels) if i not in (first, second)) + label
    return x, labels


def _sum_out(x, labels, kept):
    gone = [i for i, label in enumerate(labels) if label not in kept]
    if gone:
        x = x.sum(gone)
        labels = "".join(label for label in labels if label in kept)
    return x, labels


def _contract(a, left, b, right, kept):
    """Two operands as one batched matrix product."""
    a, left = _sum_out(a, left, kept + right)
    b, right = _sum_out(b, right, kept + left)
    batch = [c for c in left if c in right and c in kept]
    summed = [c for c in left if c in right and c not in kept]
    rows, columns = [c for c in left if c not in right], [c for c in right if c not in left]
    size = {}
    for c, n in list(zip(left, a.shape)) + list(zip(right, b.shape)):
        size[c] = n if size.get(c, 1) == 1 else size[c]
    a = a.permute([left.index(c) for c in batch + rows + summed])
    b = b.permute([right.index(c) for c in batch + summed + columns])
    a = a.expand([size[c] for c in batch + rows + summed])
    b = b.expand([size[c] for c in batch + summed + columns])
    count = lambda names: _core.Size([size[c] for c in names]).numel()  # noqa: E731
    out = a.reshape(count(batch), count(rows), count(summed)) @ \
        b.reshape(count(batch), count(summed), count(columns))
    names = batch + rows + columns
    return out.reshape([size[c] for c in names]), "".join(names)


def _check_lengths(equation, terms):
    lengths = {}
    for i, (x, names) in enumerate(terms):
        for label, n in zip(names, x.shape):
            known = lengths.setdefault(label, n)
            if 1 not in (n, known) and n != known:
                raise _core.ShapeError(f"einsum(): the label {label!r} of {equation!r} has length "
                                       f"{n} in operand {i}, and {known} before that")
            lengths[label] = max(n, known) if n and known else 0


def einsum(equation, *operands):
    """Einstein's sum over labelled dimensions, pair by pair from the left."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    labels, result = _parse(equation, operands)
    for label in result:
        if label not in "".join(labels):
            raise _core.InvalidArgumentError(f"einsum(): no operand has the label {label!r} of the "
                                             f"result in {equation!r}")
    terms = [_once(x, names) for x, names in zip(operands, labels)]
    _check_lengths(equation, terms)
    x, names = terms[0]
    for i, (other, others) in enumerate(terms[1:], 1):
        later = "".join(names_ for _, names_ in terms[i + 1:])
        x, names = _contract(x, names, other, others, result + later)
    x, names = _sum_out(x, names, result)
    return x.permute([names.index(c) for c in result]) if result else x


def matmul(x, other):
    return x @ other


def chain_matmul(*matrices):
    _dims("chain_matmul", *[(each, 2) for each in matrices])
    out = matrices[0]
    for each in matrices[1:]:
        out = out @ each
    return out


def cdist(x, other, p=2.0):
    """Distances of all pairs of rows."""
    if x.ndim < 2 or other.ndim < 2 or x.size(-1) != other.size(-1):
        raise _core.ShapeError("cdist: rows of one length, not those of "
                               f"{tuple(x.shape)} and {tuple(other.shape)}")
    return (x.unsqueeze(-2) - other.unsqueeze(-3)).norm(p, -1)


FUNCTIONS = "einsum chain_matmul cdist".split()
