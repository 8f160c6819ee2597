"""Functions that the package composes of others, against NumPy and the standard library."""
import math

import numpy
import pytest

import cebus
from cebus import special
from cebus.autograd import functional as F


# --- whole numbers ----------------------------------------------------------------------------

def test_common_divisors_and_multiples():
    a = numpy.array([12, -18, 0, 0, 7, 1 << 62, 270], dtype=numpy.int64)
    b = numpy.array([[18], [-12], [0], [1]], dtype=numpy.int64)
    x, y = cebus.tensor(a), cebus.tensor(b)
    assert numpy.array_equal(cebus.gcd(x, y).numpy(), numpy.gcd(a, b))
    assert numpy.array_equal(x[:5].lcm(y).numpy(), numpy.lcm(a[:5], b))
    small = cebus.tensor([12, 250], dtype=cebus.uint8)
    assert small.gcd(small + 4).tolist() == [4, 2]
    small.gcd_(cebus.tensor(8, dtype=cebus.uint8))
    assert small.tolist() == [4, 2] and small.dtype is cebus.uint8
    # Neighbours of Fibonacci take Euclid the most steps.
    assert cebus.gcd(cebus.tensor([7540113804746346429]),
                     cebus.tensor([4660046610375530309])).tolist() == [1]
    with pytest.raises(TypeError, match="whole numbers"):
        cebus.gcd(cebus.ones(2), cebus.ones(2))


# --- optimizers -------------------------------------------------------------------------------

def test_nadam_is_dozats():
    """Of one number whose gradient is itself: the algorithm as it is published, with the schedule
    of momenta that Keras and PyTorch 2 have."""
    x, m, v, product = 1.5, 0.0, 0.0, 1.0
    p = cebus.nn.Parameter(cebus.tensor([x], dtype=cebus.float64))
    optimizer = cebus.optim.NAdam([p], lr=0.1, betas=(0.9, 0.99), momentum_decay=0.04)
    for t in range(1, 12):
        now, later = (0.9 * (1 - 0.5 * 0.96 ** (k * 0.04)) for k in (t, t + 1))
        m, v = 0.9 * m + 0.1 * x, 0.99 * v + 0.01 * x * x
        product *= now
        mean = later * m / (1 - product * later) + (1 - now) * x / (1 - product)
        p.grad = p.detach().clone()
        x -= 0.1 * mean / (math.sqrt(v / (1 - 0.99 ** t)) + 1e-8)
        optimizer.step()
        assert p.item() == pytest.approx(x, rel=1e-12)


def test_searches_of_lbfgs_end_with_their_evaluations():
    p = cebus.nn.Parameter(cebus.tensor([-0.3, 0.5, 1.2], dtype=cebus.float64))
    optimizer = cebus.optim.LBFGS([p], lr=1e-3, max_iter=6, max_eval=3,
                                  line_search_fn="strong_wolfe")
    calls = []

    def closure():
        calls.append(1)
        optimizer.zero_grad()
        loss = (p * p).sum() + (p.sin() * 2).sum()
        loss.backward()
        return loss
    optimizer.step(closure)
    assert len(calls) == 4  # PyTorch 1.13 went on as long as the search wanted


@pytest.mark.parametrize("mode,figures,rates", [
    ("min", [1.0, 0.95, 0.95, 0.5, 0.5, 0.5], [8, 8, 4, 4, 4, 2]),
    ("min", [-0.5] * 4, [8, 8, 8, 8]), ("max", [-0.5] * 4, [8, 8, 8, 8]),
    ("min", [math.nan, 2.0, 1.0, 1.0, 1.0], [8, 8, 8, 8, 4])])
def test_rates_fall_on_a_plateau(mode, figures, rates):
    optimizer = cebus.optim.SGD([cebus.nn.Parameter(cebus.zeros(1))], lr=8.0)
    kind = cebus.optim.lr_scheduler.ReduceLROnPlateau
    schedule, found = kind(optimizer, mode, 0.5, 1, 0.1), []
    for figure in figures:
        schedule.step(figure)
        found.append(optimizer.param_groups[0]["lr"])
    assert found == rates
    for options in ({"mode": "most"}, {"threshold_mode": "some"}):
        with pytest.raises(ValueError, match="unknown"):
            kind(optimizer, **options)


# --- neighbours -------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_neighbours(kind):
    info = numpy.finfo(kind)
    draw = numpy.random.default_rng(3)
    least = float(numpy.nextafter(numpy.zeros((), kind), numpy.ones((), kind)))
    edges = [0.0, -0.0, 1.0, least, 7 * least, float(info.max), math.inf, math.nan, 0.1,
             *(float(info.tiny) * m for m in (0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 8))]
    with numpy.errstate(over="ignore"):
        near = [numpy.nextafter(numpy.array(edges, kind), numpy.array(to, kind))
                for to in (-math.inf, math.inf)]
        spread = numpy.ldexp(draw.uniform(1, 2, 4000), draw.integers(info.minexp - 20,
                                                                     info.maxexp - 1, 4000))
        a = numpy.concatenate([numpy.array(edges, kind), *near, spread.astype(kind)])
        a = numpy.concatenate([a, -a])
        for to in (-math.inf, math.inf, 0.0, 1.0, math.nan):
            want = numpy.nextafter(a, numpy.array(to, kind))
            got = cebus.nextafter(cebus.tensor(a), cebus.tensor(to, dtype=getattr(cebus, kind)))
            assert numpy.array_equal(got.numpy(), want, equal_nan=True), to
    with pytest.raises(TypeError, match="float32 or float64"):
        cebus.nextafter(cebus.ones(2, dtype=cebus.float16), cebus.ones(2, dtype=cebus.float16))


# --- corners ----------------------------------------------------------------------------------

def test_infinities_stay_where_they_are():
    x = cebus.tensor([1.0, math.inf, math.nan], requires_grad=True)
    assert x.diag()[0].tolist() == [1, 0, 0] and x.diag_embed(1)[1, 2].item() == math.inf
    x.diag()[0].sum().backward()
    assert x.grad.tolist() == [1, 0, 0]
    assert cebus.tensor([True, False]).diag().dtype is cebus.bool
    assert not cebus.tensor([1.0]).isclose(cebus.tensor([-math.inf])).any()
    assert cebus.tensor([math.inf]).allclose(cebus.tensor([math.inf]))
    assert cebus.digamma(cebus.tensor([math.inf])).tolist() == [math.inf]


def test_modes_of_what_is_no_number():
    values, indices = cebus.tensor([[math.nan], [2.0]]).mode()
    assert math.isnan(values[0]) and indices.tolist() == [0, 0]
    assert cebus.tensor([math.nan, 3.0, math.nan, 3.0]).mode()[0].item() == 3


def test_logarithms_of_sums_are_of_the_type_of_both():
    a, b = cebus.tensor([3], dtype=cebus.uint8), cebus.tensor([1.74], dtype=cebus.float64)
    assert a.logaddexp2(b).item() == pytest.approx(math.log2(8 + 2 ** 1.74), rel=1e-14)
    assert cebus.ones(1).half().logaddexp2(a.int()).dtype is cebus.float16
    whole = cebus.tensor([[1, 2]]).logsumexp(1)
    assert whole.item() == pytest.approx(math.log(math.e + math.e ** 2))


def test_numbers_alone_are_indexed_by_slices():
    x, at = cebus.tensor(2.0), cebus.tensor([0])
    assert x.index_copy(0, at, cebus.tensor(5.0)).item() == 5
    assert x.index_fill(-1, at, 3).item() == 3 and x.index_fill(0, at, 3).shape == ()


def test_another_shape_has_elements_as_they_lie():
    x, shape = cebus.arange(6).reshape(2, 3), cebus.zeros(6)
    assert x.t().clone().resize_as_(shape).tolist() == [0, 1, 2, 3, 4, 5]
    assert x.clone().resize_as_(shape).tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(NotImplementedError, match="side by side"):
        x[:, ::2].resize_as_(cebus.zeros(4))


def test_pieces_may_overlap():
    pieces = cebus.arange(3).tensor_split([3, 0, 1])
    assert [each.tolist() for each in pieces] == [[0, 1, 2], [], [0], [1, 2]]


# --- logarithms -------------------------------------------------------------------------------

def test_entropy():
    x = cebus.tensor([0.0, 1.0, 0.5, -1.0, math.nan, math.inf], requires_grad=True)
    y = special.entr(x)
    assert y[:4].tolist() == [0, 0, pytest.approx(0.5 * math.log(2)), -math.inf]
    assert math.isnan(y[4].item()) and y[5].item() == -math.inf
    y[1:3].sum().backward()
    assert x.grad.tolist()[:3] == [0, -1, pytest.approx(math.log(2) - 1)]


def test_products_with_logarithms_of_one_more():
    x, y = cebus.tensor([0.0, 0.0, 2.0, 3.0]), cebus.tensor([-1.0, math.nan, 1e-20, 4.0])
    found = special.xlog1py(x.double(), y.double()).tolist()
    assert found[0] == 0 and math.isnan(found[1])
    assert found[2:] == [pytest.approx(2e-20, rel=1e-6), pytest.approx(3 * math.log1p(4))]
    assert special.xlog1py(cebus.tensor([2.0]), 1).item() == pytest.approx(2 * math.log(2))


def test_normal_distribution():
    points = [-30.0, -3.0, 0.0, 0.5, 3.0, math.inf, -math.inf]
    x = cebus.tensor(points, dtype=cebus.float64, requires_grad=True)
    y = special.ndtr(x)
    assert y.tolist() == [pytest.approx(0.5 * math.erfc(-p / math.sqrt(2)), rel=1e-13)
                          for p in points]
    y[1:5].sum().backward()
    assert x.grad.tolist()[1:5] == [pytest.approx(math.exp(-p * p / 2) / math.sqrt(2 * math.pi))
                                    for p in points[1:5]]


# --- types ------------------------------------------------------------------------------------

def test_types_that_results_have():
    small, bits = cebus.ones(2, dtype=cebus.int32), cebus.ones(2, dtype=cebus.bool)
    half = cebus.ones(2, dtype=cebus.bfloat16)
    assert cebus.addcmul(small, bits, bits, value=2).dtype is cebus.int32
    assert cebus.addcmul(half, small, small, value=0.5).tolist() == [1.5, 1.5]
    assert cebus.addcmul(half, small, small, value=0.5).dtype is cebus.bfloat16
    assert cebus.addcdiv(half, small, half.float()).dtype is cebus.float32
    number = cebus.ones((), dtype=cebus.float64)
    assert cebus.addcmul(number.float(), half, number).dtype is cebus.bfloat16
    assert cebus.copysign(small, -half).dtype is cebus.bfloat16
    assert cebus.copysign(small, -small).tolist() == [-1, -1]
    assert special.entr(half).dtype is cebus.bfloat16


# --- derivatives ------------------------------------------------------------------------------

def test_jvp():
    x, v = cebus.tensor([1.0, 2.0]), cebus.tensor([1.0, 10.0])
    out, change = F.jvp(lambda a: a * a, x, v)
    assert out.tolist() == [1, 4] and change.tolist() == [2, 40]
    assert not out.requires_grad
    outs, changes = F.jvp(lambda a, b: (a.sum() * b, b, cebus.ones(2)), (x, x), (v, 2 * v))
    assert outs[0].tolist() == [3, 6] and outs[1].tolist() == [1, 2]
    assert changes[0].tolist() == [11 + 6, 22 + 60] and changes[1].tolist() == [2, 20]
    assert changes[2].tolist() == [0, 0]
    assert F.jvp(lambda a: a ** 3, cebus.tensor(2.0))[1].item() == 12
    with pytest.raises(ValueError, match="v is needed"):
        F.jvp(lambda a: a, x)
    with pytest.raises(ValueError, match="must be alike"):
        F.jvp(lambda a: a, x, v[:1])


@pytest.mark.parametrize("call", [
    lambda f, x: F.hessian(f, x), lambda f, x: F.hvp(f, x, x), lambda f, x: F.vhp(f, x, x),
    lambda f, x: F.jacobian(f, x, create_graph=True), lambda f, x: F.vjp(f, x, x, True),
    lambda f, x: F.jvp(f, x, x, create_graph=True)])
def test_gradients_of_gradients_are_refused(call):
    with pytest.raises(NotImplementedError, match="not recorded: write the gradient"):
        call(lambda x: x * x, cebus.ones(2))
