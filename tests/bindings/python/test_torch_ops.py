"""Results and gradients of operations against PyTorch on the CPU, over random shapes and types."""
import random

import numpy
import pytest

import cebus

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
torch.set_num_threads(1)

TOLERANCE = {"float32": 1e-5, "float64": 1e-10}


def close(ours, theirs, kind, scale=1.0):
    """Whether both are equal up to rounding, in relation to the largest element."""
    theirs = theirs.detach()
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.dtype.name == str(theirs.dtype).split(".")[1]
    a, b = ours.detach().double().numpy(), theirs.double().numpy()
    size = max(float(numpy.abs(b[numpy.isfinite(b)]).max(initial=0.0)), 1e-3)
    numpy.testing.assert_allclose(a, b, rtol=TOLERANCE[kind] * scale,
                                  atol=TOLERANCE[kind] * scale * size, equal_nan=True)


def both(function, arrays, kind, differentiable=True, scale=1.0):
    """Calls function(module, tensors...) of both libraries, compares results and gradients."""
    ours = [cebus.tensor(array) for array in arrays]
    theirs = [torch.tensor(array) for array in arrays]
    floats = [i for i, array in enumerate(arrays) if array.dtype.kind == "f" and differentiable]
    for i in floats:
        ours[i].requires_grad_()
        theirs[i].requires_grad_()
    a, b = function(cebus, *ours), function(torch, *theirs)
    if not isinstance(a, cebus.Tensor):
        a, b = a[0], b[0]
    if b.dtype.is_floating_point:
        close(a, b, kind, scale)
    else:
        assert a.tolist() == b.tolist() and a.dtype.name == str(b.dtype).split(".")[1]
    if floats and b.requires_grad:
        seed = numpy.random.RandomState(5).standard_normal(tuple(b.shape)).astype(kind)
        a.backward(cebus.tensor(seed).reshape(a.shape))
        b.backward(torch.tensor(seed).reshape(b.shape))
        for i in floats:
            if theirs[i].grad is not None:
                close(ours[i].grad, theirs[i].grad, kind, scale)


def normal(rng, shape, kind, low=None, high=None):
    values = rng.standard_normal(shape) if low is None else rng.uniform(low, high, shape)
    return numpy.asarray(values, dtype=kind)


def shape_of(rng, ndim):
    return tuple(rng.randint(1, 6) for _ in range(ndim))


UNARY = {
    "neg": None, "abs": None, "sign": None, "square": None, "exp": None, "sin": None, "cos": None,
    "erf": None, "tanh": None, "sigmoid": None, "relu": None, "floor": None, "ceil": None,
    "round": None, "trunc": None, "frac": None, "expm1": None, "sinh": None, "cosh": None,
    "isnan": None, "isinf": None, "isfinite": None,
    "log": (0.1, 3), "sqrt": (0.1, 3), "rsqrt": (0.1, 3), "reciprocal": (0.5, 3),
    "log2": (0.1, 3), "log10": (0.1, 3), "log1p": (-0.9, 3), "exp2": None, "tan": (-1, 1),
    "logit": (0.1, 0.9), "nan_to_num": None,
}


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_each_element(name, kind):
    rng, shapes = numpy.random.RandomState(1), random.Random(name)
    for ndim in range(4):
        array = normal(rng, shape_of(shapes, ndim), kind, *(UNARY[name] or ()))
        both(lambda lib, x: getattr(lib, name)(x), [array], kind)


BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "pow", "fmod", "remainder", "hypot",
          "floor_divide", "eq", "ne", "lt", "le", "gt", "ge", "xlogy", "true_divide",
          "logical_and", "logical_or", "logical_xor", "isclose"]


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_operands(name, kind):
    rng, shapes = numpy.random.RandomState(2), random.Random(name)
    for _ in range(6):
        full = shape_of(shapes, shapes.randint(0, 3))
        tail = full[shapes.randint(0, len(full)):]
        other = tuple(n if shapes.random() < 0.7 else 1 for n in tail)
        arrays = [normal(rng, full, kind, 0.5, 3), normal(rng, other, kind, 0.6, 3)]
        if shapes.random() < 0.5:
            arrays.reverse()
        smooth = name not in ("fmod", "remainder", "floor_divide")
        both(lambda lib, x, y: getattr(lib, name)(x, y), arrays, kind, smooth)


TYPES = ["float32", "float64", "float16", "int64", "int32", "uint8", "bool"]


@pytest.mark.parametrize("first", TYPES)
@pytest.mark.parametrize("second", TYPES)
def test_types_of_results(first, second):
    x, y = numpy.array([1, 3, 2]), numpy.array([1, 2, 5])
    pairs = [(x.astype(first), y.astype(second)), (x[0].astype(first), y.astype(second))]
    for a, b in pairs:
        for name in ["add", "mul", "div", "maximum", "eq", "lt"]:
            ours = getattr(cebus, name)(cebus.tensor(a), cebus.tensor(b))
            theirs = getattr(torch, name)(torch.tensor(a), torch.tensor(b))
            assert ours.dtype.name == str(theirs.dtype).split(".")[1], name
            found, expected = numpy.array(ours.tolist()), theirs.double().numpy()
            numpy.testing.assert_allclose(found, expected, rtol=1e-3, err_msg=name)
        for number in (2, 2.5, True):
            for function in (lambda t: t + number, lambda t: t * number, lambda t: number * t,
                             lambda t: t / number, lambda t: t == number):
                ours, theirs = function(cebus.tensor(a)), function(torch.tensor(a))
                assert ours.dtype.name == str(theirs.dtype).split(".")[1]
                numpy.testing.assert_allclose(numpy.array(ours.tolist()), theirs.double().numpy(),
                                              rtol=1e-3)


REDUCTIONS = {
    "sum": {}, "mean": {}, "amax": {}, "amin": {}, "var": {}, "std": {}, "logsumexp": {},
    "prod": {}, "norm": {}, "any": {}, "all": {}, "nansum": {}, "count_nonzero": {},
}


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, kind):
    rng, shapes = numpy.random.RandomState(3), random.Random(name)
    for _ in range(5):
        shape = tuple(n + 1 for n in shape_of(shapes, shapes.randint(1, 3)))
        array = normal(rng, shape, kind)
        dim = shapes.randrange(-len(shape), len(shape))
        keep = {"keepdim": shapes.random() < 0.5} if name != "count_nonzero" else {}
        both(lambda lib, x: getattr(lib, name)(x, dim=dim, **keep), [array], kind, scale=4)
        if name not in ("amax", "amin", "logsumexp", "var", "std"):
            both(lambda lib, x: getattr(lib, name)(x), [array], kind, scale=4)
        if name in ("sum", "mean", "var", "amax"):
            both(lambda lib, x: getattr(lib, name)(x, dim=(0, -1) if len(shape) > 1 else (0,)),
                 [array], kind, scale=4)


ALONG = ["max", "min", "argmax", "argmin", "sort", "argsort", "cumsum", "cumprod", "softmax",
         "log_softmax", "median", "unbind", "flip"]


@pytest.mark.parametrize("name", ALONG)
def test_functions_along_a_dimension(name):
    rng, shapes = numpy.random.RandomState(4), random.Random(name)
    for _ in range(5):
        shape = shape_of(shapes, shapes.randint(1, 3))
        dim = shapes.randrange(-len(shape), len(shape))
        array = normal(rng, shape, "float32")
        both(lambda lib, x: getattr(lib, name)(x, [dim] if name == "flip" else dim), [array],
             "float32", scale=4)


MATRICES = [((3, 4), (4, 5)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((2, 3, 4), (4, 5)),
            ((2, 3, 4), (2, 4, 5)), ((5, 1, 3, 4), (2, 4, 2)), ((1, 0), (0, 3)),
            ((17, 33), (33, 9))]


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("shapes", MATRICES, ids=str)
def test_matrix_products(shapes, kind):
    rng = numpy.random.RandomState(6)
    both(lambda lib, a, b: a @ b, [normal(rng, shape, kind) for shape in shapes], kind, scale=4)


SHAPING = {
    "reshape": lambda lib, x: x.reshape(4, -1), "permute": lambda lib, x: x.permute(2, 0, 1),
    "transpose": lambda lib, x: x.transpose(0, -1),
    "expand": lambda lib, x: x.expand(2, -1, -1, -1),
    "slices": lambda lib, x: x[1:, ::2, :-1], "select": lambda lib, x: x[:, 1],
    "masks": lambda lib, x: x[x > 0], "positions": lambda lib, x: x[[0, 1, 1], :, [0, 2, 3]],
    "cat": lambda lib, x: lib.cat([x, x * 2], 1), "stack": lambda lib, x: lib.stack([x, x * 2], -1),
    "chunk": lambda lib, x: x.chunk(2, 1)[1], "roll": lambda lib, x: lib.roll(x, (1, -2), (0, 2)),
    "tril": lambda lib, x: lib.tril(x, 1), "triu": lambda lib, x: lib.triu(x, -1),
    "diagonal": lambda lib, x: x.diagonal(1, 1, 2), "repeat": lambda lib, x: x.repeat(2, 1, 1, 3),
    "tile": lambda lib, x: lib.tile(x, (2, 2)), "unfold": lambda lib, x: x.unfold(2, 3, 1),
    "repeat_interleave": lambda lib, x: x.repeat_interleave(2, 1),
    "where": lambda lib, x: lib.where(x > 0, x, x * 0.5),
    "clamp": lambda lib, x: x.clamp(-0.5, 0.7),
    "masked_fill": lambda lib, x: x.masked_fill(x < 0, -1.0),
    "einsum": lambda lib, x: lib.einsum("abc,dbc->ad", x, x),
    "tensordot": lambda lib, x: lib.tensordot(x, x, ([1, 2], [1, 2])),
    "outer": lambda lib, x: lib.outer(x[0, 0], x[0, 1]), "movedim": lambda lib, x: x.movedim(0, 2),
    "flatten": lambda lib, x: x.flatten(1), "unsqueeze": lambda lib, x: x[:, None, ..., None],
    "cdist": lambda lib, x: lib.cdist(x[0], x[1]), "lerp": lambda lib, x: lib.lerp(x, x * x, 0.3),
    "addcmul": lambda lib, x: lib.addcmul(x, x, x, value=0.5),
    "index_select": lambda lib, x: x.index_select(1, lib.tensor([2, 0, 0])),
    "gather": lambda lib, x: x.gather(2, lib.tensor([[[0, 3], [1, 1]]])),
    "index_add": lambda lib, x: x.index_add(0, lib.tensor([1]), x[:1]),
    "topk": lambda lib, x: x.topk(2, 1), "kthvalue": lambda lib, x: x.kthvalue(2, 2),
    "kron": lambda lib, x: lib.kron(x[0], x[1]), "dist": lambda lib, x: lib.dist(x[0], x[1], 3),
    "meshgrid": lambda lib, x: lib.meshgrid(x[0, 0], x[0, 1], indexing="ij"),
    "take_along_dim": lambda lib, x: lib.take_along_dim(x, x.argsort(2), 2),
    "logcumsum": lambda lib, x: x.exp().cumsum(1).log(),
    "diag": lambda lib, x: lib.diag(x[0, 0], -1),
    "trace": lambda lib, x: lib.trace(x[0]), "split": lambda lib, x: lib.split(x, [1, 2], 1)[1],
}


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", SHAPING)
def test_shapes_and_positions(name, kind):
    array = numpy.random.RandomState(7).standard_normal((2, 3, 4)).astype(kind)
    both(SHAPING[name], [array], kind, scale=4)


def test_numbers_are_printed_alike():
    for array in ([1.0, 2.5], [[1, 2], [30, 4]], [1e-6, 1.0], [1e9, 1.0], [True, False], 3.25,
                  [float("nan"), 1.0], [float("inf"), -2.0], [[[1.5]]], [100000.0, 2.0], [],
                  [0.001, 123.456], list(range(40)), [[0.5] * 30] * 2, -7, [1.0, 1000.5]):
        assert repr(cebus.tensor(array)) == repr(torch.tensor(array)).replace("torch.", "cebus.")
    wide = numpy.arange(4000, dtype="float32").reshape(20, 200)
    assert repr(cebus.tensor(wide)) == repr(torch.tensor(wide))
