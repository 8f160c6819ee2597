"""What is compared of each function that PyTorch has, too: operands and a call. A key is a name, or
a name of one module where it means something else there ("F.unfold")."""
import numpy

CASES = {}
INF = float("inf")
ALL = "fhib"      # kinds: f32 and f64, f16 and bf16, whole numbers, bool
SMOOTH = "fh"


class Case:
    """`operands(draw)` and `call(f, *tensors)`; `lib` where the call takes it first. `scale`: of
    the tolerance; `large`: shapes with very many elements, too; `grads`: whether they are
    compared; `plain`: operands lie in row-major order."""

    def __init__(self, operands, call=None, kinds=SMOOTH, grads=True, scale=1.0, in_place=True,
                 lib=False, large=None, plain=False):
        self.operands, self.call = operands, call or (lambda f, *xs: f(*xs))
        self.kinds, self.grads, self.scale, self.in_place = kinds, grads, scale, in_place
        self.lib, self.large, self.plain = lib, large, plain


def add(names, *arguments, **options):
    for name in names.split():
        assert name not in CASES, name
        CASES[name] = Case(*arguments, **options)


def one(low=-2.0, high=2.0, **options):
    return lambda draw: [draw(draw.shape(), low, high, **options)]


def two(low=-2.0, high=2.0, second=None):
    def operands(draw):
        shape = draw.shape()
        a, b = draw(shape, low, high), draw(draw.part_of(shape), *(second or (low, high)))
        return [a, b] if draw.random.random() < 0.7 else [b, a]
    return operands


# --- of each element --------------------------------------------------------------------------

add("abs absolute neg negative square sign positive", one(), kinds=ALL)
add("sgn", one(), kinds=ALL, grads=False)  # PyTorch 1.13 finds some of 1e-9
add("sin cos erf tanh sigmoid expit erfc sinh cosh exp expm1 exp2 deg2rad rad2deg", one(),
    kinds=ALL)
add("atan arctan asinh arcsinh", one(-30.0, 30.0), kinds=ALL)
add("asin arcsin acos arccos atanh arctanh", one(-0.95, 0.95))
add("acosh arccosh", one(1.05, 40.0))
add("tan", one(-1.2, 1.2), scale=2)
add("sinc", one(-3.0, 3.0), scale=2)
add("log log2 log10 rsqrt sqrt", one(0.05, 9.0), kinds="fhi")
add("reciprocal", one(0.3, 3.0))
add("log1p", one(-0.9, 3.0), scale=2)
add("erfinv", one(-0.98, 0.98))
add("logit", one(0.05, 0.95), scale=2)
add("lgamma gammaln digamma psi", one(0.1, 9.0), scale=4)
add("polygamma", one(0.2, 9.0), lambda f, x: f(1, x.detach()), grads=False, scale=2)
add("floor ceil trunc fix frac", one(-5.0, 5.0), kinds="f")
add("round", one(-5.0, 5.0), kinds="f")
add("special.round", one(-5.0, 5.0), lambda f, x: f(x, decimals=1), kinds="f", grads=False)
add("relu", one(), kinds="fhi")
add("isnan isinf isfinite isneginf isposinf isreal signbit", one(), kinds="fhib", grads=False)
add("nan_to_num", lambda draw: [with_gaps(draw)], kinds="f")
add("logical_not", one(), kinds=ALL, grads=False)
add("bitwise_not", one(), kinds="ib", grads=False)
add("is_nonzero", lambda draw: [draw((1,))], lambda f, x: f(x), kinds=ALL, grads=False)
# PyTorch 1.13 divides by 6 in float32, in float64, too.
add("hardsigmoid", one(-7.0, 7.0), kinds="sh", scale=2)
add("selu celu hardswish relu6 leaky_relu elu softsign tanhshrink mish silu logsigmoid "
    "softplus gelu hardtanh", one(-7.0, 7.0), scale=2)
add("hardshrink softshrink", one())
add("threshold", one(), lambda f, x: f(x, 0.3, -1.0), in_place=False)
add("glu", lambda draw: [draw(draw.shape(0, 3) + (2 * draw.random.randint(1, 4),))], scale=2)
add("prelu", lambda draw: [draw((3, 4, 2)), draw((4,), 0.1, 0.5)], scale=2)
add("clamp clip", one(), lambda f, x: f(x, -0.5, 0.7), kinds="f")
add("clamp_min clamp_max", one(), lambda f, x: f(x, 0.5), kinds="f")
add("pow", two(0.3, 2.5), kinds="f", scale=2)
add("float_power", two(0.3, 2.5), kinds="f", scale=2, in_place=False)


def with_gaps(draw):
    x = draw(draw.shape(1, 3, 2))
    x.array.ravel()[::2] = numpy.nan
    x.array.ravel()[::3] = numpy.inf
    return x


# --- of two operands --------------------------------------------------------------------------

add("add sub subtract mul multiply", two(), kinds="fhi")
add("maximum minimum", two(), kinds="fhib")
add("fmax fmin", two(), kinds="fhi")
add("div divide true_divide", two(0.3, 3.0), kinds="fhi")
add("floor_divide", two(1.0, 9.0), kinds="fi", grads=False)
add("bitwise_left_shift", two(0.0, 12.0), kinds="i", grads=False)
add("bitwise_right_shift", two(0.0, 12.0), kinds="i", grads=False)
add("remainder fmod", two(1.0, 9.0), kinds="fi", grads=False)
add("rsub", two(), lambda f, x, y: f(x, y, alpha=2), kinds="fhi")
add("eq ne lt le gt ge not_equal less less_equal greater greater_equal", two(), kinds=ALL,
    grads=False)
add("logical_and logical_or logical_xor", two(), kinds=ALL, grads=False)
add("bitwise_and bitwise_or bitwise_xor", two(-90.0, 90.0), kinds="ib", grads=False)
add("gcd lcm", two(-90.0, 90.0), kinds="i", grads=False)
add("nextafter", two(), kinds="f", grads=False)
add("entr", one(0.05, 3.0))
add("xlog1py", two(0.1, 3.0), kinds="f", scale=2)
add("ndtr", one())
add("atan2 arctan2", two(0.2, 2.0), kinds="f", scale=2)
add("hypot", two(0.2, 2.0))
add("copysign", two(), kinds="f")
add("heaviside", two(), kinds="fi", grads=False)
add("xlogy", two(0.1, 3.0), kinds="f", scale=2)
add("logaddexp logaddexp2", two(), kinds="f", scale=2)
add("ldexp", two(), kinds="f", scale=2)
add("isclose", two(), grads=False, kinds="fi")
add("allclose equal", lambda draw: [draw((3, 2)), draw((3, 2))], kinds="fi", grads=False)
add("is_same_size", two(), kinds="f", grads=False)
add("lerp", lambda draw: [draw((3, 4)), draw((3, 4)), draw((4,))], kinds="f")
add("addcmul addcdiv", lambda draw: [draw((3, 4)), draw((3, 1), 0.5, 2), draw((4,), 0.5, 2)],
    lambda f, x, a, b: f(x, a, b, value=0.5), scale=2)
add("dist", lambda draw: [draw((3, 4)), draw((3, 4))], lambda f, x, y: f(x, y, 3), kinds="f",
    scale=4)
add("masked_fill", lambda draw: [draw((3, 4)), draw.mask((3, 1))], lambda f, x, m: f(x, m, 2),
    kinds=ALL)
add("where", lambda draw: [draw.mask((3, 4)), draw((3, 1)), draw((4,))], kinds=ALL,
    in_place=False)
add("Tensor.where", lambda draw: [draw((3, 1)), draw.mask((3, 4)), draw((4,))], kinds=ALL)


# --- reductions -------------------------------------------------------------------------------

def along(low=-2.0, high=2.0, least=1, **options):
    """An operand with a dimension that the call is told."""
    def operands(draw):
        shape = draw.shape(1, 4, least)
        return [draw(shape, low, high, **options)]
    return operands


def over(f, x, **more):
    """f over a dimension, with and without it kept, and of all."""
    dim = -1 if x.shape[-1] > 1 else 0
    return [f(x, dim, **more), f(x, dim, True, **more)]


def several(f, x):
    dims = tuple(range(0, x.ndim, 2))
    return over(f, x) + [f(x), f(x, dims), f(x, dims, True)]


POSITIVE = (0.5, 1.5)
add("sum", one(), several, kinds=ALL, scale=4, large=POSITIVE)
add("mean", along(), several, kinds="fh", scale=4, large=POSITIVE)
add("amax amin", along(distinct=True), several, kinds="fhi")
add("nansum", along(), several, kinds="f", scale=4)
add("nanmean", along(), over, kinds="f", scale=4)
add("var std", along(least=2), several, kinds="f", scale=8, large=POSITIVE)
add("var_mean std_mean", along(least=2), over, kinds="f", scale=8)
add("prod", along(0.5, 1.5), lambda f, x: over(f, x) + [f(x)], kinds="fi", scale=8)
add("logsumexp", along(), lambda f, x: over(f, x) + [f(x, (0, -1)) if x.ndim > 1 else f(x, 0)],
    scale=4, large=POSITIVE)
add("norm", along(), lambda f, x: [f(x), f(x, 1, 0), f(x, 3, -1, True), f(x, INF, 0)], kinds="f",
    scale=4)
add("linalg.norm", along(), lambda f, x: [f(x), f(x, 1, 0), f(x, 2.5, -1)], kinds="f", scale=4)
add("vector_norm", along(), lambda f, x: [f(x), f(x, 1, 0), f(x, 3.0, -1, True), f(x, INF)],
    kinds="f", scale=4)
add("matrix_norm", lambda draw: [draw((2, 3, 4))],
    lambda f, x: [f(x), f(x, 1), f(x, -INF), f(x, "nuc"), f(x, 2), f(x, dim=(0, 1), keepdim=True)],
    kinds="f", scale=8)
add("any all", one(), lambda f, x: [f(x), f(x, -1)] if x.ndim else f(x), kinds=ALL, grads=False)
add("count_nonzero", one(), lambda f, x: [f(x), f(x, -1)] if x.ndim else f(x), kinds=ALL,
    grads=False)
add("argmax argmin", along(distinct=True), lambda f, x: over(f, x) + [f(x)], kinds="fi",
    grads=False)
add("max min", along(distinct=True), lambda f, x: over(f, x) + [f(x)], kinds="fi")
add("median nanmedian", along(distinct=True), lambda f, x: over(f, x) + [f(x)], kinds="f")
add("mode", along(), over, kinds="i", grads=False)
add("aminmax", along(distinct=True), lambda f, x: [f(x), f(x, dim=0, keepdim=True)], kinds="f",
    grads=False)
add("cumsum cumprod", one(0.5, 1.5), lambda f, x: f(x, -1) if x.ndim else f(x, 0), kinds="fib",
    scale=8)
add("cummax cummin", one(distinct=True), lambda f, x: f(x, 0), kinds="fi")
add("logcumsumexp", one(), lambda f, x: f(x, 0), kinds="f", scale=8)
add("quantile nanquantile", along(distinct=True),
    lambda f, x: [f(x, 0.3), f(x, 0.7, 0, True)], kinds="f", scale=4)
add("diff", along(least=2), lambda f, x: [f(x), f(x, dim=0)], kinds="fi")
add("trapezoid trapz", along(least=2), lambda f, x: f(x, dim=0), kinds="f", scale=4)
add("cumulative_trapezoid", along(least=2), lambda f, x: f(x, dim=0), kinds="f", scale=4)
add("softmax log_softmax", one(), lambda f, x: f(x, -1), scale=4)
add("F.softmax F.log_softmax softmin", one(), lambda f, x: f(x, dim=0), scale=4)
add("cov corrcoef", lambda draw: [draw((3, 5))], kinds="f", scale=8)
add("histc", lambda draw: [draw((20,), 0.0, 3.0, constant=True)], lambda f, x: f(x, 5, 0, 3),
    kinds="f", grads=False)
add("histogram", lambda draw: [draw((20,), 0.0, 3.0, constant=True)],
    lambda f, x: f(x, 5, range=(0.0, 3.0)), kinds="f", grads=False)
add("bincount", lambda draw: [draw.indices((12,), 5)], lambda f, x: [f(x), f(x, minlength=9)],
    grads=False)
add("trace", lambda draw: [draw((3, 4))], kinds="f")


# --- order and positions ----------------------------------------------------------------------

add("sort", along(distinct=True), lambda f, x: [f(x), f(x, 0, True)], kinds="fi")
add("argsort msort", along(distinct=True), kinds="fi", grads=False)
add("topk", along(distinct=True, least=2), lambda f, x: [f(x, 2), f(x, 1, 0, False)], kinds="fi")
add("kthvalue", along(distinct=True, least=2), lambda f, x: [f(x, 2), f(x, 1, 0, True)], kinds="f")
add("unique", lambda draw: [draw((4, 5), kind="int64")],
    lambda f, x: f(x, return_inverse=True, return_counts=True), grads=False)
add("unique_consecutive", lambda draw: [draw((9,), kind="int64")],
    lambda f, x: f(x, return_inverse=True, return_counts=True), grads=False)
add("searchsorted", lambda draw: [draw((7,), 0.0, 1.0, distinct=True), draw((2, 3))],
    lambda f, x, v: [f(x.sort()[0].detach(), v), f(x.sort()[0].detach(), v, right=True)],
    grads=False, kinds="f")
add("bucketize", lambda draw: [draw((2, 3)), draw((7,), distinct=True)],
    lambda f, v, x: f(v, x.sort()[0].detach()), grads=False, kinds="f")
add("isin", lambda draw: [draw((3, 4), kind="int64"), draw((5,), kind="int64")], grads=False)
add("nonzero argwhere", one(), kinds=ALL, grads=False)
add("gather", lambda draw: [draw((3, 4, 2)), draw.indices((2, 4, 2), 3)],
    lambda f, x, i: f(x, 0, i), kinds=ALL)
add("take", lambda draw: [draw((3, 4)), draw.indices((2, 5), 12)], kinds="fi")
add("take_along_dim", lambda draw: [draw((3, 4)), draw.indices((3, 2), 4)],
    lambda f, x, i: f(x, i, 1), kinds="f")
add("index_select", lambda draw: [draw((3, 4, 2)), draw.indices((5,), 4)],
    lambda f, x, i: f(x, 1, i), kinds=ALL)
# PyTorch 1.13 fills the places of columns that lie together first, not of rows.
add("masked_select", lambda draw: [draw((3, 4)), draw.mask((4,))], kinds=ALL, plain=True)
add("masked_scatter", lambda draw: [draw((3, 4)), draw.mask((3, 4)), draw((12,))], kinds="fi",
    plain=True)
add("scatter", lambda draw: [draw((5, 3)), draw.different(3, 5), draw((3, 3))],
    lambda f, x, i, s: f(x, 0, i.reshape(-1, 1).expand(3, 3), s), kinds="fi")
add("scatter_add", lambda draw: [draw((3, 4)), draw.indices((5, 4), 3), draw((5, 4))],
    lambda f, x, i, s: f(x, 0, i, s), kinds="fi", scale=4)
add("scatter_reduce", lambda draw: [draw((3, 4), 0.5, 1.5), draw.indices((5, 4), 3),
                                    draw((5, 4), 0.5, 1.5)],
    lambda f, x, i, s: [f(x, 0, i, s, how, include_self=both) for both in (True, False)
                        for how in ("sum", "mean", "prod", "amax", "amin")], kinds="f", scale=8,
    in_place=False)
add("index_add", lambda draw: [draw((3, 4)), draw.indices((5,), 3), draw((5, 4))],
    lambda f, x, i, s: f(x, 0, i, s, alpha=2), kinds="fi", scale=4)
add("index_copy", lambda draw: [draw((5, 4)), draw.different(3, 5), draw((3, 4))],
    lambda f, x, i, s: f(x, 0, i, s), kinds="f")
add("index_fill", lambda draw: [draw((5, 4)), draw.different(3, 5)],
    lambda f, x, i: f(x, 0, i, 2), kinds="fi")
add("index_put", lambda draw: [draw((5, 4)), draw.different(3, 5), draw((3, 4))],
    lambda f, x, i, s: f(x, (i,), s), kinds="fi")
add("put", lambda draw: [draw((5, 4)), draw.different(3, 20), draw((3,))],
    lambda f, x, i, s: [f(x, i, s), f(x, i, s, True)], kinds="f", in_place=False)
add("embedding", lambda draw: [draw.indices((2, 3), 5), draw((5, 4))],
    lambda f, i, w: f(i, w, 1), kinds="fh")
add("embedding_bag", lambda draw: [draw.indices((2, 3), 5), draw((5, 4))],
    lambda f, i, w: [f(i, w), f(i, w, mode="sum"), f(i, w, mode="max")], kinds="f", scale=4)
add("one_hot", lambda draw: [draw.indices((2, 3), 5)], lambda f, i: f(i, 6), grads=False)


# --- shapes -----------------------------------------------------------------------------------

def block(*shape, **options):
    return lambda draw: [draw(shape or (2, 3, 4), **options)]


add("reshape", block(), lambda f, x: [f(x, (4, -1)), f(x, (24,))], kinds=ALL)
add("view", lambda draw: [draw((2, 3, 4))], lambda f, x: f(x.contiguous(), (4, -1)), kinds=ALL)
add("permute", block(), lambda f, x: f(x, (2, 0, 1)), kinds=ALL)
add("transpose swapaxes swapdims", block(), lambda f, x: f(x, 0, -1), kinds=ALL)
add("t", block(3, 4), kinds=ALL)
add("adjoint", block())
add("movedim moveaxis", block(), lambda f, x: [f(x, 0, 2), f(x, (0, 1), (1, 2))], kinds=ALL)
add("expand", block(3, 1), lambda f, x: [f(x, (3, 4)), f(x, (2, -1, 4))], kinds=ALL)
add("expand_as", lambda draw: [draw((3, 1)), draw((2, 3, 4))], kinds=ALL)
add("broadcast_to", block(3, 1), lambda f, x: f(x, (2, 3, 4)), kinds=ALL)
add("broadcast_tensors", lambda draw: [draw((3, 1)), draw((2, 1, 4))], kinds=ALL)
add("squeeze", block(1, 3, 1, 4), lambda f, x: [f(x), f(x, 0), f(x, 1)], kinds=ALL)
add("unsqueeze", one(), lambda f, x: [f(x, 0), f(x, -1)], kinds=ALL)
add("flatten ravel", one(), kinds=ALL)
add("unflatten", block(2, 12), lambda f, x: f(x, 1, (3, 4)), kinds="f")
add("reshape_as view_as", lambda draw: [draw((2, 3, 4)), draw((6, 4))],
    lambda f, x, y: f(x.contiguous(), y))
add("select", block(), lambda f, x: f(x, 1, -2), kinds=ALL)
add("narrow narrow_copy", block(), lambda f, x: f(x, 1, 1, 2), kinds=ALL)
add("split unsafe_split", block(), lambda f, x: [f(x, 2, 1), f(x, 3, -1)], kinds=ALL)
add("split_with_sizes", block(), lambda f, x: f(x, [1, 2], 1), kinds=ALL)
add("chunk unsafe_chunk", block(), lambda f, x: [f(x, 2, 1), f(x, 3, -1)], kinds=ALL)
add("tensor_split", block(), lambda f, x: [f(x, 2, 1), f(x, (1, 3), -1)], kinds=ALL)
add("hsplit", block(2, 4), lambda f, x: f(x, 2), kinds="f")
add("vsplit", block(4, 2), lambda f, x: f(x, [1, 3]), kinds="f")
add("dsplit", block(2, 2, 4), lambda f, x: f(x, 2), kinds="f")
add("unbind", block(), lambda f, x: f(x, 1), kinds=ALL)
add("Tensor.unfold", block(3, 7), lambda f, x: f(x, 1, 3, 2), kinds="fi")
add("repeat tile", block(2, 3), lambda f, x: f(x, (2, 1, 3)), kinds=ALL)
add("repeat_interleave", lambda draw: [draw((2, 3)), draw.indices((3,), 4)],
    lambda f, x, n: [f(x, 2), f(x, 2, 0), f(x, n, 1)], kinds="fi")
add("flip", block(), lambda f, x: f(x, (0, 2)), kinds=ALL)
add("fliplr flipud", block(), kinds=ALL)
add("rot90", block(), lambda f, x: [f(x), f(x, 2, (1, 2)), f(x, 3, (0, 2))], kinds="f")
add("roll", block(), lambda f, x: [f(x, 2), f(x, (1, -2), (0, 2))], kinds=ALL)
add("tril triu", block(), lambda f, x: f(x, 1), kinds=ALL)
add("diag", lambda draw: [draw((4,)), draw((3, 4))],
    lambda f, v, m: [f(v), f(v, 1), f(v, diagonal=-2), f(m), f(m, 1)], kinds="fi", in_place=False)
add("diagonal", block(2, 3, 4), lambda f, x: [f(x), f(x, 1), f(x, -1, 1, 2)], kinds="fi")
add("diag_embed", block(2, 3), lambda f, x: [f(x), f(x, 1), f(x, -1, 0, 2)], kinds="f")
add("diagflat", block(2, 3), lambda f, x: [f(x), f(x, 1)], kinds="f")
add("diagonal_scatter", lambda draw: [draw((3, 4)), draw((3,))], lambda f, x, s: f(x, s), kinds="f")
add("select_scatter", lambda draw: [draw((3, 4)), draw((4,))], lambda f, x, s: f(x, s, 0, 1),
    kinds="f")
add("slice_scatter", lambda draw: [draw((5, 4)), draw((2, 4))],
    lambda f, x, s: f(x, s, 0, 1, 5, 2), kinds="f")
add("as_strided", block(12), lambda f, x: f(x.contiguous(), (3, 2), (4, 1), 1), kinds="f")
add("sum_to_size", block(), lambda f, x: f(x, (3, 1)), kinds="f", scale=4)
add("clone contiguous detach", one(), kinds=ALL)
add("renorm", block(3, 4), lambda f, x: f(x, 2, 0, 1.0), kinds="f", scale=4)
add("vander", block(4), lambda f, x: [f(x), f(x, 3), f(x, increasing=True)], kinds="f", scale=4,
    grads=False)  # PyTorch 1.13 fails to differentiate it
add("atleast_1d atleast_2d atleast_3d", one(), kinds="f")

SEVERAL = lambda draw: [draw((2, 3)), draw((2, 3)), draw((2, 3))]  # noqa: E731
add("cat concat concatenate stack", SEVERAL,
    lambda f, *xs: [f(xs), f(xs, 1), f(xs, dim=-1)], kinds=ALL)
add("vstack row_stack hstack dstack column_stack", SEVERAL, lambda f, *xs: f(xs), kinds=ALL)
add("block_diag", lambda draw: [draw((2, 3)), draw((3,)), draw((1, 1))], kinds="f")
add("cartesian_prod", lambda draw: [draw((2,)), draw((3,))], kinds="f")
add("combinations", block(4), lambda f, x: [f(x), f(x, 3, True)], kinds="f")
add("meshgrid", lambda draw: [draw((2,)), draw((3,))],
    lambda f, *xs: [f(*xs, indexing="ij"), f(*xs, indexing="xy")], kinds="f")
add("broadcast_shapes", lambda draw: [], lambda f: list(f((3, 1), (2, 1, 4))), grads=False)


# --- products ---------------------------------------------------------------------------------

def matrices(*shapes):
    return lambda draw: [draw(shape) for shape in shapes]


MATMUL = [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((3, 4), (4, 5)), ((2, 3, 4), (4, 5)),
          ((2, 1, 3, 4), (5, 4, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((33, 65), (65, 17))]
add("matmul", lambda draw: [draw(s) for s in draw.random.choice(MATMUL)], kinds="fhi", scale=8)
add("mm", matrices((3, 4), (4, 5)), kinds="fh", scale=8)
add("bmm", matrices((2, 3, 4), (2, 4, 5)), kinds="fh", scale=8)
add("mv", matrices((3, 4), (4,)), kinds="f", scale=8)
add("dot vdot inner", matrices((5,), (5,)), kinds="f", scale=8)
add("outer ger", matrices((3,), (4,)), kinds="f")
add("addmm", matrices((3, 5), (3, 4), (4, 5)),
    lambda f, *xs: f(*xs, beta=0.5, alpha=2), kinds="f", scale=8)
add("addmv", matrices((3,), (3, 4), (4,)), lambda f, *xs: f(*xs, beta=0.5, alpha=2), kinds="f",
    scale=8)
add("addr", matrices((3, 4), (3,), (4,)), lambda f, *xs: f(*xs, beta=0.5, alpha=2), kinds="f",
    scale=4)
add("baddbmm", matrices((2, 3, 5), (2, 3, 4), (2, 4, 5)),
    lambda f, *xs: f(*xs, beta=0.5, alpha=2), kinds="f", scale=8)
add("addbmm", matrices((3, 5), (2, 3, 4), (2, 4, 5)),
    lambda f, *xs: f(*xs, beta=0.5, alpha=2), kinds="f", scale=8)
add("chain_matmul", matrices((3, 4), (4, 2), (2, 5)), kinds="f", scale=8)
add("multi_dot", matrices((3, 4), (4, 2), (2, 5)), lambda f, *xs: f(xs), kinds="f", scale=8)
add("tensordot", matrices((2, 3, 4), (3, 4, 5)),
    lambda f, a, b: [f(a, b), f(a, b, ([1], [0]))], kinds="f", scale=8)
add("kron", matrices((2, 3), (3, 1)), kinds="f")
add("cross", matrices((4, 3), (4, 3)), kinds="f")
add("matrix_power", lambda draw: [well(draw)], lambda f, x: [f(x, 3), f(x, 0), f(x, -2)],
    kinds="f", scale=40)
add("einsum", matrices((2, 3, 4), (2, 4, 5), (5,)),
    lambda f, a, b, c: [f("bij,bjk->bik", a, b), f("bij,bjk,k->i", a, b, c), f("bij->jb", a),
                        f("...ij->...ji", a)], kinds="f", scale=16)
add("cdist", matrices((2, 5, 3), (2, 4, 3)), kinds="f", scale=8)
add("pdist", matrices((5, 3)), kinds="f", scale=8)
add("vecdot", matrices((3, 4), (3, 4)), kinds="f", scale=8)
add("bilinear", matrices((3, 4), (3, 2), (5, 4, 2), (5,)), kinds="f", scale=8)
add("linear", matrices((2, 3, 4), (5, 4), (5,)), kinds="fh", scale=8)
add("cosine_similarity pairwise_distance", matrices((3, 4), (3, 4)), kinds="f", scale=8)
add("normalize", block(3, 4), kinds="f", scale=4)


def well(draw, n=4):
    """A matrix far from singular."""
    x = draw((2, n, n), -0.3, 0.3)
    x.array = x.array + 1.5 * numpy.eye(n)
    x.layout = "plain"
    return x


def alone(draw):
    x = well(draw)
    x.array = x.array[0]
    return [x]


def spd(f, x, *more):
    return f(x @ x.mT, *more)


FINE = {"kinds": "f", "scale": 200}
add("det logdet slogdet inverse inv pinverse pinv matrix_exp",
    lambda draw: draw.random.choice((alone(draw), [well(draw)])), **FINE)
add("torch.svd Tensor.svd", alone, lambda f, x: absolute(f(x)), **FINE)
add("cond", lambda draw: [well(draw)], lambda f, x: [f(x), f(x, 1)], grads=False, **FINE)
add("cholesky", lambda draw: [well(draw)], spd, **FINE)
add("eigvalsh", lambda draw: [well(draw)], spd, **FINE)
add("eigh", lambda draw: [well(draw)], lambda f, x: absolute(spd(f, x)), **FINE)
add("svdvals", lambda draw: [draw((2, 4, 3))], **FINE)
add("svd", lambda draw: [draw((2, 4, 3))], lambda f, x: absolute(f(x, full_matrices=False)),
    **FINE)
add("qr", lambda draw: [draw((2, 4, 3))], lambda f, x: absolute(f(x)), **FINE)
add("solve", lambda draw: [well(draw), draw((2, 4, 2))], **FINE)
add("solve_triangular", lambda draw: [well(draw), draw((2, 4, 2))],
    lambda f, a, b: [f(a, b, upper=True), f(a, b, upper=False, unitriangular=True)], **FINE)
add("lstsq", lambda draw: [draw((2, 5, 3)), draw((2, 5, 2))], lambda f, a, b: f(a, b)[0], **FINE)
add("matrix_rank", lambda draw: [draw((2, 4, 3))], grads=False, kinds="f")
add("linalg.diagonal", block(2, 3, 4), lambda f, x: [f(x), f(x, offset=1)], kinds="f")
add("linalg.vander", block(2, 4), lambda f, x: f(x), kinds="f", scale=4)


def absolute(results):
    """Factors up to their signs."""
    return [each.abs() for each in results]


# --- networks ---------------------------------------------------------------------------------

PAIR = matrices((2, 4, 6, 7), (6, 2, 3, 2), (6,))
add("conv2d", PAIR, lambda f, x, w, b: [f(x, w, b, groups=2), f(x, w, None, 2, (1, 2), 1, 2),
                                         f(x, w, b, padding="same", dilation=2, groups=2)],
    kinds="f", scale=8)
add("conv1d", matrices((2, 4, 9), (6, 2, 3), (6,)),
    lambda f, x, w, b: [f(x, w, b, groups=2), f(x, w, None, 2, 1, 1, 2),
                        f(x, w, b, padding="same", groups=2)], kinds="f", scale=8)
add("conv3d", matrices((2, 4, 5, 6, 5), (6, 2, 3, 2, 3), (6,)),
    lambda f, x, w, b: [f(x, w, b, groups=2), f(x, w, None, 2, (1, 0, 2), 1, 2),
                        f(x, w, b, padding=1, dilation=(2, 1, 1), groups=2)], kinds="f", scale=16)
add("conv_transpose2d", matrices((2, 4, 5, 3), (4, 3, 3, 2), (6,)),
    lambda f, x, w, b: [f(x, w, b, groups=2), f(x, w, None, 2, 1, 1, 2)], kinds="f", scale=8)
add("conv_transpose1d", matrices((2, 4, 5), (4, 3, 3), (6,)),
    lambda f, x, w, b: [f(x, w, b, groups=2), f(x, w, None, 2, 1, 1, 2)], kinds="f", scale=8)
add("conv_transpose3d", matrices((2, 4, 3, 4, 3), (4, 3, 3, 2, 3), (6,)),
    lambda f, x, w, b: [f(x, w, b, groups=2), f(x, w, None, 2, 1, 1, 2),
                        f(x, w, b, (1, 2, 1), 0, 0, 2, (2, 1, 1))], kinds="f", scale=16)

IMAGE, ROW, VOLUME = (block(*s, distinct=True) for s in ((2, 3, 7, 8), (2, 3, 9),
                                                         (1, 2, 5, 6, 7)))
SIZES = lambda f, x: [f(x, 3), f(x, 2, padding=1), f(x, 3, 2, ceil_mode=True)]  # noqa: E731
add("max_pool2d avg_pool2d", IMAGE, SIZES, kinds="f", scale=2)
add("max_pool1d avg_pool1d", ROW, SIZES, kinds="f", scale=2)
add("max_pool3d avg_pool3d", VOLUME, SIZES, kinds="f", scale=4)
add("max_pool2d_with_indices", IMAGE,
    lambda f, x: [f(x, 3, 2, 1), f(x, (2, 3), dilation=2), f(x, 3, 2, ceil_mode=True)], kinds="f")
add("max_pool1d_with_indices", ROW, lambda f, x: [f(x, 3, 2, 1), f(x, 2)], kinds="f")
add("adaptive_avg_pool2d adaptive_max_pool2d", IMAGE, lambda f, x: [f(x, (3, 4)), f(x, (7, 1))],
    kinds="f", scale=2)
add("adaptive_avg_pool1d adaptive_max_pool1d", ROW, lambda f, x: [f(x, 4), f(x, 3)], kinds="f",
    scale=2)
add("adaptive_avg_pool3d adaptive_max_pool3d", VOLUME, lambda f, x: [f(x, (2, 3, 4)), f(x, 1)],
    kinds="f", scale=4)
add("lp_pool2d", block(2, 3, 6, 8, low=0.1), lambda f, x: f(x, 2.0, 2), kinds="f", scale=4)
add("lp_pool1d", block(2, 3, 8, low=0.1), lambda f, x: f(x, 3.0, 2), kinds="f", scale=4)
add("max_unpool2d", lambda draw: [draw((2, 3, 6, 8), distinct=True)],
    lambda lib, f, x: f(*lib.nn.functional.max_pool2d(x, 2, return_indices=True), 2), kinds="f",
    lib=True)
add("max_unpool1d", lambda draw: [draw((2, 3, 8), distinct=True)],
    lambda lib, f, x: f(*lib.nn.functional.max_pool1d(x, 2, return_indices=True), 2), kinds="f",
    lib=True)
add("F.unfold", block(2, 3, 5, 6), lambda f, x: [f(x, 3), f(x, (2, 3), 2, 1, 2)], kinds="f")
add("fold", block(2, 12, 12), lambda f, x: [f(x, (4, 5), 2), f(x, (5, 6), 2, 2, (1, 0), (2, 1))],
    kinds="f", scale=4)
add("pixel_shuffle", block(2, 8, 3, 2), lambda f, x: f(x, 2), kinds="f")
add("pixel_unshuffle", block(2, 2, 4, 6), lambda f, x: f(x, 2), kinds="f")
add("channel_shuffle", block(2, 6, 3, 2), lambda f, x: f(x, 3), kinds="f", grads=False)
add("interpolate upsample", block(2, 3, 5, 6),
    lambda f, x: [f(x, (7, 4)), f(x, scale_factor=2, mode="bilinear", align_corners=False),
                  f(x, (9, 4), mode="bilinear", align_corners=True),
                  f(x, scale_factor=1.5, mode="bicubic", align_corners=False),
                  f(x, (3, 4), mode="area"), f(x, (7, 4), mode="nearest-exact")], kinds="f",
    scale=8)
add("upsample_nearest upsample_bilinear", block(2, 3, 5, 6), lambda f, x: f(x, scale_factor=2),
    kinds="f", scale=4)
add("grid_sample", lambda draw: [draw((2, 3, 5, 6)), draw((2, 4, 3, 2), -1.4, 1.4)],
    lambda f, x, g: [f(x, g, align_corners=corners, padding_mode=how) for corners in (True, False)
                     for how in ("zeros", "border", "reflection")], kinds="f", scale=20)
add("affine_grid", block(2, 2, 3), lambda f, x: [f(x, (2, 1, 4, 5), align_corners=corners)
                                                  for corners in (True, False)], kinds="f", scale=4)
add("F.pad", block(2, 3, 5, 6),
    lambda f, x: [f(x, (1, 2)), f(x, (1, 0, 2, 1), value=3.0), f(x, (1, 2, 0, 1), "reflect"),
                  f(x, (1, 2, 0, 1), "replicate"), f(x, (1, 2, 0, 1), "circular"),
                  f(x, (-1, 1))], kinds="f", scale=4)
add("layer_norm", matrices((2, 3, 4), (3, 4), (3, 4)),
    lambda f, x, w, b: [f(x, (3, 4), w, b), f(x, (4,))], kinds="f", scale=16)
add("rms_norm", matrices((2, 3, 4), (3, 4)),
    lambda f, x, w: [f(x, (3, 4), w), f(x, (4,)), f(x * 1e-6, (4,), eps=1e-3)], kinds="f", scale=16)
add("scaled_dot_product_attention", matrices((2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 5)),
    lambda f, q, k, v: [f(q, k, v), f(q, k, v, is_causal=True), f(q, k, v, scale=0.3),
                        f(q, k, v, q[0, 0, :, :1] > 0.1)], kinds="f", scale=16)
add("group_norm", matrices((2, 4, 3, 3), (4,), (4,)), lambda f, x, w, b: f(x, 2, w, b), kinds="f",
    scale=16)
add("instance_norm", matrices((2, 4, 3, 3)), kinds="f", scale=16)
add("batch_norm", lambda draw: [draw((3, 4, 3, 3)), draw((4,)), draw((4,)),
                                draw((4,), constant=True), draw((4,), 0.5, 2, constant=True)],
    lambda f, x, w, b, m, v: [f(x, m, v, w, b, True), f(x, m, v, w, b), m, v], kinds="f", scale=16)
add("local_response_norm", block(2, 5, 3), lambda f, x: f(x, 3), kinds="f", scale=4)

# Losses.
HOW = ("mean", "sum", "none")
SAME = matrices((3, 4), (3, 4))


def reductions(f, *xs, **more):
    return [f(*xs, reduction=how, **more) for how in HOW]


add("mse_loss l1_loss smooth_l1_loss huber_loss", SAME, reductions, kinds="f", scale=4)
add("binary_cross_entropy", lambda draw: [draw((3, 4), 0.05, 0.95),
                                          draw((3, 4), 0.0, 1.0, constant=True)], reductions,
    kinds="f", scale=4)
add("binary_cross_entropy_with_logits multilabel_soft_margin_loss",
    lambda draw: [draw((3, 4)), draw((3, 4), 0.0, 1.0, constant=True)], reductions, kinds="f",
    scale=4)
add("kl_div", lambda draw: [draw((3, 4)), draw((3, 4), 0.1, 1.0)],
    lambda f, x, y: reductions(f, x, y) + [f(x, y.log(), reduction="batchmean", log_target=True)],
    kinds="f", scale=8)
add("soft_margin_loss", lambda draw: [draw((3, 4)), signs(draw, (3, 4))], reductions, kinds="f",
    scale=4)
add("hinge_embedding_loss", lambda draw: [draw((3, 4)), signs(draw, (3, 4))], reductions,
    kinds="f", scale=4)
add("poisson_nll_loss", lambda draw: [draw((3, 4), 0.1, 2.0),
                                      draw((3, 4), 0.5, 5.0, constant=True)],
    lambda f, x, y: reductions(f, x, y) + [f(x, y, log_input=False, full=True)], kinds="f",
    scale=8)
add("gaussian_nll_loss", lambda draw: [draw((3, 4)), draw((3, 4)), draw((3, 4), 0.3, 2.0)],
    reductions, kinds="f", scale=8)
add("margin_ranking_loss", lambda draw: [draw((5,)), draw((5,)), signs(draw, (5,))], reductions,
    kinds="f", scale=4)
add("cosine_embedding_loss", lambda draw: [draw((3, 4)), draw((3, 4)), signs(draw, (3,))],
    reductions, kinds="f", scale=8)
add("triplet_margin_loss", matrices((3, 4), (3, 4), (3, 4)),
    lambda f, *xs: reductions(f, *xs) + [f(*xs, swap=True)], kinds="f", scale=8)
add("triplet_margin_with_distance_loss", matrices((3, 4), (3, 4), (3, 4)), reductions, kinds="f",
    scale=8)
add("nll_loss", lambda draw: [draw((3, 4)), draw.indices((3,), 4), draw((4,), 0.5, 2,
                                                                        constant=True)],
    lambda f, x, t, w: reductions(f, x, t) + reductions(f, x, t, weight=w), kinds="f", scale=4)
add("cross_entropy", lambda draw: [draw((3, 4, 2)), draw.indices((3, 2), 4),
                                   draw((4,), 0.5, 2, constant=True)],
    lambda f, x, t, w: reductions(f, x, t) + reductions(f, x, t, weight=w)
    + reductions(f, x, t, weight=w, label_smoothing=0.1, ignore_index=1)
    + [f(x, x.detach().softmax(1)), f(x[:, :, 0], t[:, 0], label_smoothing=0.2)], kinds="f",
    scale=8)
add("multi_margin_loss", lambda draw: [draw((3, 4)), draw.indices((3,), 4)],
    lambda f, x, t: reductions(f, x, t) + [f(x, t, p=2, margin=0.5)], kinds="f", scale=4)
add("multilabel_margin_loss", lambda draw: [draw((3, 4)), labels(draw)], reductions, kinds="f",
    scale=4)
add("ctc_loss", lambda draw: [draw((9, 3, 5)), labels(draw, (3, 4), 1)],
    lambda f, x, t: reductions(f, x.log_softmax(2), t, input_lengths=[9, 8, 7],
                               target_lengths=[4, 3, 0]), kinds="f", scale=16)
def signs(draw, shape):
    x = draw(shape, constant=True)
    x.array = numpy.where(x.array < 0, -1.0, 1.0)
    return x


def labels(draw, shape=None, low=None):
    x = draw.indices(shape or (3, 4), 4)
    if low is None:
        x.array[:] = [[2, 0, -1, 1], [3, -1, 0, 0], [-1, 1, 2, 0]]
    else:
        x.array = x.array + low
    return x


# --- made of numbers --------------------------------------------------------------------------

MADE = {
    "zeros": [((2, 3),), (4,)], "ones": [((2, 3),), (4,)], "full": [((2, 3), 1.5), ((2,), 3)],
    "eye": [(3,), (2, 4)], "arange": [(5,), (1, 9, 2), (0.5, 3.0, 0.5), (5, 1, -1)],
    "range": [(1, 4), (0, 1, 0.25)], "linspace": [(0, 1, 7), (3, -2, 4), (2, 5, 1)],
    "logspace": [(0, 2, 5), (-1, 1, 3, 2.0)], "tril_indices": [(3, 4), (4, 3, -1)],
    "triu_indices": [(3, 4), (4, 3, 1)], "hann_window": [(7,), (8, False)],
    "hamming_window": [(7,), (8, False)], "blackman_window": [(7,), (8, False)],
    "bartlett_window": [(7,), (8, False)], "scalar_tensor": [(2.5,)],
    "tensor": [([[1, 2], [3, 4]],), ([1.5, 2],), (True,), ([],)],
    "as_tensor": [([[1, 2], [3, 4]],)], "asarray": [([1.5, 2],)],
}
for name_, given in MADE.items():
    add(name_, lambda draw: [], lambda f, given=given: [f(*each) for each in given], grads=False,
        kinds="s")
add("zeros_like ones_like", one(), kinds=ALL, grads=False)
add("full_like", one(), lambda f, x: f(x, 2), kinds=ALL, grads=False)
add("new_zeros new_ones", one(), lambda f, x: f(x, (2, 3)), kinds=ALL, grads=False)
add("new_full", one(), lambda f, x: f(x, (2, 3), 1), kinds=ALL, grads=False)
add("new_tensor", one(), lambda f, x: f(x, [1, 0]), kinds=ALL, grads=False)
add("float double half bfloat16 long int byte bool", one(0.0, 4.0), kinds="fib")
add("type_as", two(0.0, 4.0), kinds="f")
add("to", two(), lambda f, x, y: [f(x, y), f(x, y.dtype)], kinds=ALL)
add("copy_", lambda draw: [draw((3, 4)), draw((4,))], lambda f, x, y: f(x.clone(), y), kinds=ALL)
add("fill_", one(), lambda f, x: f(x.clone(), 2), kinds=ALL)
add("zero_", one(), lambda f, x: f(x.clone()), kinds=ALL)
add("fill_diagonal_", block(3, 4), lambda f, x: f(x.clone(), 2), kinds="fi")
add("squeeze_", block(1, 3, 1), lambda f, x: f(x.clone()), kinds="f")
add("unsqueeze_", block(3, 2), lambda f, x: f(x.clone(), 1), kinds="f")
add("t_", block(3, 2), lambda f, x: f(x.clone()), kinds="f")
add("transpose_ swapaxes_ swapdims_", block(3, 2, 4), lambda f, x: f(x.clone(), 0, 2), kinds="f")
add("resize_as_", lambda draw: [draw((3, 4), constant=True), draw((4, 3), constant=True)],
    lambda f, x, y: f(x.clone(), y), kinds="f", grads=False)
