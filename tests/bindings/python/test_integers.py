"""Bits, shifts, divisions and powers of whole numbers: against Python's own; what is refused."""
import itertools
import operator

import pytest

import cebus

WHOLE = [0, 1, -1, 7, -7, 12, 255, -256, (1 << 53) + 1, -(1 << 62) - 1, (1 << 63) - 1, -(1 << 63)]


def wrapped(value):
    """As 64 bits hold it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def truncated(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def pairs(divide=False):
    return [(a, b) for a, b in itertools.product(WHOLE, WHOLE) if b or not divide]


def test_losses_and_bounds_keep_the_type_that_pytorch_keeps():
    """A Huber loss that of its input, a loss of logits that of its target, bounds that of a whole
    number; a factor among whole numbers is one."""
    functional, half, whole = cebus.nn.functional, cebus.ones(2).half(), cebus.tensor([1, 3])
    real, wide = cebus.ones(2), cebus.ones(2, dtype=cebus.float64)
    assert functional.huber_loss(half, wide).dtype is cebus.float16
    assert functional.huber_loss(wide, half).dtype is cebus.float64
    assert functional.huber_loss(whole, real).dtype is cebus.float32
    logits = functional.binary_cross_entropy_with_logits
    assert logits(wide, half).dtype is cebus.float16
    assert logits(real, wide, weight=half).dtype is cebus.float64
    assert logits(half, half, pos_weight=wide).dtype is cebus.float16
    bounded = functional.hardtanh(whole, -0.5, 1.5)
    assert bounded.dtype is cebus.int64 and bounded.tolist() == [1, 1]
    with pytest.raises(TypeError, match="uint8 cannot be below 0"):
        functional.hardtanh(whole.to(cebus.uint8))
    product = cebus.addcmul(whole, whole, whole, value=1.5)
    assert product.dtype is cebus.int64 and product.tolist() == [2, 12]


def test_the_next_bfloat16_is_one_bit_further():
    """All of them, up and down."""
    numpy = pytest.importorskip("numpy")
    bits = numpy.arange(1 << 16, dtype=numpy.int64)
    bits = bits[(bits & 0x7fff) <= 0x7f80]
    place = numpy.where(bits < 0x8000, bits, 0x8000 - bits)  # in the order of the numbers
    x = cebus.from_numpy((bits << 16).astype(numpy.uint32).view(numpy.float32)).bfloat16()
    for step, end in ((1, float("inf")), (-1, -float("inf"))):
        after = numpy.clip(place + step, -0x7f80, 0x7f80)
        after = numpy.where(after >= 0, after, 0x8000 - after)
        wanted = (after << 16).astype(numpy.uint32).view(numpy.float32)
        found = cebus.nextafter(x, cebus.full((), end, dtype=cebus.bfloat16).expand(x.shape))
        assert found.dtype is cebus.bfloat16
        assert (found.float().numpy() == wanted).all()


def test_types_of_results():
    """PyTorch's, of operands of different types."""
    real, wide, whole = cebus.ones(2), cebus.ones(2, dtype=cebus.float64), cebus.ones(2).long()
    loss = cebus.nn.functional.mse_loss
    assert loss(real, wide).dtype is loss(wide, real).dtype is cebus.float64
    assert loss(whole, real).dtype is cebus.float32
    assert cebus.copysign(real, -wide).dtype is cebus.float64
    assert cebus.hypot(real, real > 2).tolist() == [1, 1]
    assert cebus.normal(real, wide).dtype is cebus.float32
    assert real.sum(dtype=cebus.int32).dtype is real.prod(dtype=cebus.int32).dtype is cebus.int32
    assert cebus.bincount(whole, weights=whole).dtype is cebus.float64
    assert cebus.bincount(whole, weights=real).dtype is cebus.float32
    assert whole.index_fill(0, cebus.tensor([0]), 2.5).tolist() == [2, 1]
    assert cebus.searchsorted(real, 0.5).shape == cebus.bucketize(real[0], real).shape == ()
    assert (real > 0).clamp(max=0).tolist() == [0, 0]
    small = cebus.tensor([1, 2], dtype=cebus.uint8)
    assert (small - 300).tolist() == [213, 214] and (small - -1).tolist() == [2, 3]
    assert (small % -1).tolist() == [1, 2] and small.masked_fill(small > 1, -1).tolist() == [1, 255]
    assert cebus.nn.functional.cross_entropy(cebus.zeros(2, 4), small) == \
        cebus.nn.functional.cross_entropy(cebus.zeros(2, 4), small.long())


@pytest.mark.parametrize("function", [operator.and_, operator.or_, operator.xor])
def test_bits_are_those_of_python(function):
    a, b = (cebus.tensor(list(each)) for each in zip(*pairs()))
    assert function(a, b).tolist() == [function(*pair) for pair in pairs()]
    assert function(a, 12).tolist() == [function(x, 12) for x, _ in pairs()]
    assert function(-2, b).tolist() == [function(-2, y) for _, y in pairs()]
    flags = cebus.tensor([True, False])
    assert function(flags, True).tolist() == [function(x, True) for x in (True, False)]
    assert function(flags, cebus.tensor([3, 3])).tolist() == [function(1, 3), function(0, 3)]


def test_shifts_are_those_of_python_within_the_type():
    x = cebus.tensor(WHOLE)
    for by in (0, 1, 5, 31, 62, 63):
        assert (x << by).tolist() == [wrapped(a << by) for a in WHOLE]
        assert (x >> by).tolist() == [a >> by for a in WHOLE]
        assert (1 << cebus.tensor([by])).tolist() == [wrapped(1 << by)]
    for by in (64, 1000, -1):
        assert (x << by).tolist() == [0] * len(WHOLE)
        assert (x >> by).tolist() == [-1 if a < 0 else 0 for a in WHOLE]
    small = cebus.tensor([3, 200], dtype=cebus.uint8)
    assert (small << 7).tolist() == [128, 0] and (small >> 7).tolist() == [0, 1]
    assert (cebus.tensor([3, -3], dtype=cebus.int32) << 31).tolist() == [-(1 << 31)] * 2


def test_operators_that_write():
    x = cebus.tensor([1, 2])
    x <<= 3
    x |= 1
    x ^= cebus.tensor([0, 3])
    x >>= 1
    x &= 6
    x.bitwise_left_shift_(2)
    assert x.tolist() == [(((a << 3 | 1) ^ b) >> 1 & 6) << 2 for a, b in ((1, 0), (2, 3))]


def test_divisions_are_exact_and_rounded_as_asked():
    some = [(a, b) for a, b in pairs(divide=True) if (a, b) != (-(1 << 63), -1)]
    a, b = (cebus.tensor(list(each)) for each in zip(*some))
    assert (a // b).tolist() == [x // y for x, y in some]
    assert (a % b).tolist() == [x % y for x, y in some]
    assert a.div(b, rounding_mode="trunc").tolist() == [truncated(x, y) for x, y in some]
    assert a.fmod(b).tolist() == [x - truncated(x, y) * y for x, y in some]
    assert (a // -3).tolist() == [x // -3 for x, _ in some]
    assert (1000 // b).tolist() == [1000 // y for _, y in some]
    assert (cebus.tensor([True]) // cebus.tensor([True])).tolist() == [True]


@pytest.mark.parametrize("wrong", [
    lambda x: x // 0, lambda x: x % 0, lambda x: x.fmod(0), lambda x: x.fmod(cebus.zeros_like(x)),
    lambda x: x.div(0, rounding_mode="trunc"), lambda x: x // cebus.tensor([1, 0]),
    lambda x: 5 % cebus.tensor([1, 0]), lambda x: x.floor_divide_(0)])
def test_whole_numbers_are_not_divided_by_zero(wrong):
    x = cebus.tensor([4, 5])
    with pytest.raises(RuntimeError, match="division by zero"):
        wrong(x)
    assert x.tolist() == [4, 5]
    assert (x.float() // 0).tolist() == [float("inf")] * 2


def test_negative_powers_of_whole_numbers_are_refused_where_they_can_be_told():
    x = cebus.tensor([2, -1])
    for wrong in (lambda: x ** -1, lambda: cebus.pow(x, -2), lambda: x.pow_(-1)):
        with pytest.raises(ValueError, match="power -"):
            wrong()
    assert x.tolist() == [2, -1]
    assert (x ** cebus.tensor([-1, -3])).tolist() == [0, -1]
    assert (x.float() ** -1).tolist() == [0.5, -1.0]


@pytest.mark.parametrize("function", [operator.and_, operator.or_, operator.xor,
                                      operator.lshift, operator.rshift])
def test_floats_have_no_bits(function):
    x = cebus.ones(3)
    with pytest.raises(TypeError, match="takes integers"):
        function(x, x)
    with pytest.raises(TypeError, match="takes integers"):
        function(cebus.tensor([1]), 1.5)
    with pytest.raises(TypeError):
        function(x, "a")
    with pytest.raises(TypeError, match="bits"):
        ~x


def test_results_come_back_bit_for_bit():
    """Each is made of the one before; the budget holds three of eight."""
    x = cebus.arange(1 << 14) * 977 + (1 << 40)

    def chain(x):
        out = [x]
        for by in (1, 2, 3, 4, 5, 6, 7):
            out.append(((out[-1] >> 1) ^ (out[-1] << by)) // by)
        return [each.sum().item() for each in out]

    ample = chain(x)
    with cebus.budget(cebus.memory_allocated() + 5 * x.nbytes):
        before = cebus.memory_stats()["recomputes"]
        assert chain(x) == ample
        assert cebus.memory_stats()["recomputes"] > before


def test_bernoulli_takes_probabilities_or_one():
    cebus.manual_seed(4)
    x = cebus.full((1000,), 0.25)
    assert 180 < x.bernoulli().sum().item() < 320
    assert 680 < x.bernoulli(0.75).sum().item() < 820
    assert cebus.bernoulli(cebus.tensor([0.0, 1.0, -2.0, 3.0, float("nan")])).tolist() == \
        [0, 1, 0, 1, 0]
    generator = cebus.Generator().manual_seed(5)
    first = cebus.bernoulli(x, generator=generator).tolist()
    assert cebus.bernoulli(x, generator=generator.manual_seed(5)).tolist() == first
    for wrong in (1.5, -0.1, float("nan")):
        with pytest.raises(ValueError, match="in \\[0, 1\\]"):
            x.bernoulli(wrong)
