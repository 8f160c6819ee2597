"""Linear algebra, under the names of torch.linalg. Norms and products are composed of operations;
factorizations run on the host by NumPy, in float64, and their gradients are matrix products
(Giles 2008, "Collected matrix derivative results for forward and reverse mode")."""
import math

from . import _core, missing
from ._core import ShapeError, UnsupportedError, where
from .autograd.function import Function
from .products import cross as _cross, matrix_power, multi_dot  # noqa: F401


class LinAlgError(_core.Error):
    """A matrix has no inverse or no such factors."""


# --- norms ------------------------------------------------------------------------------------

def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):  # noqa: A002
    """(sum |x|^ord)^(1/ord) over `dim`; None: all."""
    if dim is None and not keepdim:
        x = x.reshape(-1)
    return x.norm(ord, dim, keepdim, dtype)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):  # noqa: A002
    """Of the matrices in two dimensions: "fro", "nuc", 1, -1, 2, -2, inf, -inf."""
    A = A if dtype is None else A.to(dtype)
    rows, columns = [_core._wrapped(A, d) for d in dim]
    if ord == "fro":
        return A.norm(2, (rows, columns), keepdim)
    if ord in (1, -1, math.inf, -math.inf):
        first, second = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = A.abs().sum(first, keepdim=True)
        found = sums.amax(second, True) if ord > 0 else sums.amin(second, True)
    elif ord in ("nuc", 2, -2):
        values = svdvals(A.movedim((rows, columns), (-2, -1)))
        found = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord > 0 else values.amin(-1)
        for d in sorted((rows, columns)):
            found = found.unsqueeze(d)
    else:
        raise _core.InvalidArgumentError(f"linalg.matrix_norm: Order {ord} not supported.")
    if keepdim:
        return found
    for d in sorted((rows, columns), reverse=True):
        found = found.squeeze(d)
    return found


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):  # noqa: A002
    """A vector's norm, or a matrix's where `ord` is given and two dimensions are meant."""
    two = isinstance(dim, (tuple, list)) and len(dim) == 2
    if ord is None or (dim is not None and not two) or (dim is None and A.ndim == 1):
        return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    return matrix_norm(A, ord, dim if two else (-2, -1), keepdim, dtype=dtype)


# --- products ---------------------------------------------------------------------------------

def cross(x, other, *, dim=-1):
    """The product of vectors of three elements along `dim`."""
    return _cross(x, other, dim)


def matmul(x, other):
    return x @ other


def vecdot(x, y, *, dim=-1):
    """Inner products along `dim`."""
    return (x * y).sum(dim)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    return A.diagonal(offset, dim1, dim2)


def vander(x, *, N=None):
    """Increasing powers of the last dimension, as a last dimension."""
    n = x.size(-1) if N is None else N
    return _core.stack([x ** k for k in range(n)], -1)


# --- on the host ------------------------------------------------------------------------------

def _numpy():
    try:
        import numpy
    except ImportError:
        raise UnsupportedError("linalg: factorizations need NumPy (python3-numpy)") from None
    return numpy


def _on_host(name, call, *tensors):
    """The arrays that NumPy makes of tensors in float64, as tensors of the first one's type."""
    numpy = _numpy()
    arrays = [numpy.array(x.detach().double().cpu().contiguous().numpy()) for x in tensors]
    try:
        found = call(numpy.linalg, *arrays)
    except numpy.linalg.LinAlgError as error:
        raise LinAlgError(f"linalg.{name}: {error}") from None
    first = tensors[0]
    found = found if isinstance(found, tuple) else (found,)
    made = [_core.tensor(numpy.array(each, order="C")).to(first.dtype).to(first.device)
            for each in found]
    return made[0] if len(made) == 1 else tuple(made)


def _square(name, A):
    if A.ndim < 2 or A.size(-1) != A.size(-2):
        raise ShapeError(f"linalg.{name}: A must be batches of square matrices, but they are "
                         f"{' by '.join(map(str, A.shape[-2:]))} matrices")
    if not A.is_floating_point():
        raise _core.DtypeError(f"linalg.{name}: Expected a floating point tensor as input. Got "
                               f"{A.dtype}")


class _Inverse(Function):
    @staticmethod
    def forward(ctx, A):
        out = _on_host("inv", lambda la, a: la.inv(a), A)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad):
        turned = ctx.saved_tensors[0].mT
        return -(turned @ grad @ turned)


def inv(A):
    """The inverse of square matrices."""
    _square("inv", A)
    return _Inverse.apply(A)


class _Solve(Function):
    @staticmethod
    def forward(ctx, A, B):
        x = _on_host("solve", lambda la, a, b: la.solve(a, b), A, B)
        ctx.save_for_backward(A, x)
        return x

    @staticmethod
    def backward(ctx, grad):
        A, x = ctx.saved_tensors
        slope = solve(A.mT, grad)
        return (-(slope @ x.mT)).sum_to_size(A.shape), slope


def solve(A, B, *, left=True):
    """x with A x = B (or x A = B)."""
    _square("solve", A)
    if not left:
        return solve(A.mT, B.mT).mT
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    if vector:
        return solve(A, B.unsqueeze(-1)).squeeze(-1)
    batch = _core.Size(_common(A.shape[:-2], B.shape[:-2]))
    return _Solve.apply(A.expand(*batch, *A.shape[-2:]), B.expand(*batch, *B.shape[-2:]))


def _common(a, b):
    from .shaping import broadcast_shapes
    return broadcast_shapes(a, b)


class _Slogdet(Function):
    @staticmethod
    def forward(ctx, A):
        numpy = _numpy()
        sign, size = _on_host("slogdet", lambda la, a: tuple(map(numpy.asarray, la.slogdet(a))), A)
        ctx.save_for_backward(A)
        ctx.mark_non_differentiable(sign)
        return sign, size

    @staticmethod
    def backward(ctx, _, grad):
        return grad[..., None, None] * inv(ctx.saved_tensors[0]).mT


def slogdet(A):
    """(sign, log |det A|)"""
    _square("slogdet", A)
    return _Slogdet.apply(A)


def det(A):
    """The determinant of square matrices."""
    sign, size = slogdet(A)
    return sign * size.exp()


def logdet(A):
    sign, size = slogdet(A)
    return where(sign < 0, math.nan, size)


class _Cholesky(Function):
    @staticmethod
    def forward(ctx, A):
        out = _on_host("cholesky", lambda la, a: la.cholesky(a), A)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad):
        L = ctx.saved_tensors[0]
        middle = (L.mT @ grad).tril()
        middle = middle - 0.5 * (middle.diagonal(0, -2, -1)).diag_embed()
        inverse = inv(L)
        found = inverse.mT @ middle @ inverse
        return 0.5 * (found + found.mT)


def cholesky(A, *, upper=False):
    """L with L L^T = A, of symmetric positive-definite matrices."""
    _square("cholesky", A)
    L = _Cholesky.apply(A)
    return L.mT if upper else L


# --- eigenvalues, singular values -------------------------------------------------------------

class _Eigh(Function):
    @staticmethod
    def forward(ctx, A):
        values, vectors = _on_host("eigh", lambda la, a: tuple(la.eigh(a)), A)
        ctx.save_for_backward(values, vectors)
        return values, vectors

    @staticmethod
    def backward(ctx, g_values, g_vectors):
        values, vectors = ctx.saved_tensors
        apart = values.unsqueeze(-2) - values.unsqueeze(-1)
        inner = where(apart == 0, 0.0, (vectors.mT @ g_vectors) / where(apart == 0, 1.0, apart))
        found = vectors @ (inner + g_values.diag_embed()) @ vectors.mT
        return 0.5 * (found + found.mT)


def eigh(A, UPLO="L"):
    """(eigenvalues in order, eigenvectors as columns) of symmetric matrices."""
    _square("eigh", A)
    lower = A.tril() + A.tril(-1).mT if UPLO == "L" else A.triu() + A.triu(1).mT
    return _Eigh.apply(lower)


def eigvalsh(A, UPLO="L"):
    return eigh(A, UPLO)[0]


class _Svd(Function):
    @staticmethod
    def forward(ctx, A):
        U, S, Vh = _on_host("svd", lambda la, a: tuple(la.svd(a, full_matrices=False)), A)
        ctx.save_for_backward(U, S, Vh)
        return U, S, Vh

    @staticmethod
    def backward(ctx, gU, gS, gVh):
        U, S, Vh = ctx.saved_tensors
        V, gV = Vh.mT, gVh.mT
        apart = S.unsqueeze(-2) ** 2 - S.unsqueeze(-1) ** 2
        share = where(apart == 0, 0.0, 1 / where(apart == 0, 1.0, apart))
        u, v = U.mT @ gU, Vh @ gV
        inner = share * (u - u.mT) * S.unsqueeze(-2) + S.unsqueeze(-1) * (share * (v - v.mT))
        found = U @ (inner + gS.diag_embed()) @ Vh
        over = 1 / S.unsqueeze(-2)
        rows = (gU * over - U @ (u * over)) @ Vh
        return found + rows + U @ (over * gV - V @ (v * over)).mT


def svd(A, full_matrices=True, *, driver=None):
    """(U, S, Vh) with U S Vh = A; `full_matrices`: bases of the whole spaces, without gradients."""
    if full_matrices and A.size(-1) != A.size(-2):
        if A.requires_grad and _core.is_grad_enabled():
            raise UnsupportedError("linalg.svd: gradients want full_matrices=False")
        return _on_host("svd", lambda la, a: tuple(la.svd(a)), A)
    return _Svd.apply(A)


def svdvals(A, *, driver=None):
    return svd(A, False)[1]


class _Qr(Function):
    @staticmethod
    def forward(ctx, A):
        Q, R = _on_host("qr", lambda la, a: tuple(la.qr(a)), A)
        ctx.save_for_backward(Q, R)
        return Q, R

    @staticmethod
    def backward(ctx, gQ, gR):
        Q, R = ctx.saved_tensors
        if R.size(-2) != R.size(-1):
            raise UnsupportedError("linalg.qr: no gradient of wide matrices")
        M = R @ gR.mT - gQ.mT @ Q
        M = M.tril() + M.tril(-1).mT
        return (gQ + Q @ M) @ inv(R).mT


def qr(A, mode="reduced"):
    """(Q, R) with orthonormal columns and an upper triangle, Q R = A."""
    if mode == "reduced":
        return _Qr.apply(A)
    if A.requires_grad and _core.is_grad_enabled():
        raise UnsupportedError(f"linalg.qr: gradients want mode='reduced', not {mode!r}")
    if mode == "r":
        return A.new_zeros(0), _on_host("qr", lambda la, a: la.qr(a, mode="r"), A)
    return _on_host("qr", lambda la, a: tuple(la.qr(a, mode=mode)), A)


# --- composed ---------------------------------------------------------------------------------

def _cut(S, A, rtol):
    """The singular values that count."""
    edge = max(A.shape[-2:]) * _epsilon(A.dtype) if rtol is None else rtol
    return S > edge * S.amax(-1, True)


def _epsilon(kind):
    return {"float64": 2.0 ** -52, "float32": 2.0 ** -23}.get(kind.name, 2.0 ** -7)


def matrix_rank(A, *, rtol=None):
    """How many singular values are not zero."""
    S = svdvals(A.detach())
    return _cut(S, A, rtol).sum(-1)


def pinv(A, *, rtol=None, hermitian=False):
    """The inverse of Moore and Penrose."""
    U, S, Vh = svd(A, False)
    kept = _cut(S.detach(), A, 1e-15 if rtol is None else rtol)
    over = where(kept, 1 / where(kept, S, 1.0), 0.0)
    return Vh.mT @ (over.unsqueeze(-1) * U.mT)


def lstsq(A, B, *, rcond=None, driver=None):
    """The x that makes |A x - B| least: (solution, residuals, rank, singular_values)."""
    x = pinv(A) @ B
    return Least(x, ((A @ x - B) ** 2).sum(-2), matrix_rank(A), svdvals(A.detach()))


class Least(tuple):
    """What lstsq() answers."""

    def __new__(cls, *parts):
        return tuple.__new__(cls, parts)

    solution, residuals, rank, singular_values = [
        property(lambda self, i=i: self[i]) for i in range(4)]


def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """solve() for triangles: the other half of A is not read."""
    A = A.triu() if upper else A.tril()
    if unitriangular:
        size = A.size(-1)
        eye = (_core.arange(size, device=A.device).unsqueeze(1)
               == _core.arange(size, device=A.device))
        A = where(eye, 1.0, A)
    return solve(A, B, left=left)


def cond(A, p=None):
    """How much larger an error becomes: |A| |A^-1|."""
    if p in (None, 2, -2):
        S = svdvals(A)
        return S.amax(-1) / S.amin(-1) if p != -2 else S.amin(-1) / S.amax(-1)
    return matrix_norm(A, p) * matrix_norm(inv(A), p)


def matrix_exp(A):
    """e^A by scaling, a series of 18 terms, and squaring."""
    _square("matrix_exp", A)
    size = float(A.detach().abs().sum(-1).max()) if A.numel() else 0.0
    times = max(0, math.ceil(math.log2(size)) + 1) if size > 0.5 else 0
    X = A * 2.0 ** -times
    eye = (_core.arange(A.size(-1), device=A.device).unsqueeze(1)
           == _core.arange(A.size(-1), device=A.device)).to(A.dtype)
    total, term = eye + X, X
    for k in range(2, 19):
        term = term @ X * (1 / k)
        total = total + term
    for _ in range(times):
        total = total @ total
    return total


# As torch.cholesky and torch.svd have them.

def cholesky_(A, upper=False):
    """cholesky()"""
    return cholesky(A, upper=upper)


def svd_(A, some=True, compute_uv=True):
    """(U, S, V) with U S V^T = A."""
    U, S, Vh = svd(A, not some)
    return U, S, Vh.mT


def __dir__():
    return sorted(set(globals()))


__getattr__ = missing.of_module("cebus.linalg", __dir__)
