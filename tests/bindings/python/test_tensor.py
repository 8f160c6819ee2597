"""Making tensors, their types and numbers, and how they meet."""
import math

import numpy
import pytest

import cebus


def test_tensor_of_nested_lists_has_their_shape_and_type():
    x = cebus.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert x.shape == (2, 3) and x.dtype is cebus.float32 and x.tolist()[1] == [4, 5, 6]
    assert cebus.tensor([1, 2]).dtype is cebus.int64
    assert cebus.tensor([True]).dtype is cebus.bool
    assert cebus.tensor(3.5).shape == () and cebus.tensor(3.5).item() == 3.5
    assert cebus.tensor([[], []]).shape == (2, 0)
    assert cebus.tensor([1, 2.5]).dtype is cebus.float32
    assert cebus.tensor([cebus.tensor(1.0), cebus.tensor(2.0)]).tolist() == [1, 2]


def test_numbers_of_numpy_and_of_tensors_keep_their_type_in_lists():
    assert cebus.tensor([numpy.mean([1.0, 0.2])]).tolist() == [0.6]
    assert cebus.tensor([[numpy.int32(1)], [numpy.int32(2)]]).dtype is cebus.int32
    assert cebus.tensor([numpy.float32(1), 2]).dtype is cebus.float32
    assert cebus.tensor([numpy.int16(1)]).dtype is cebus.tensor([True, 1]).dtype is cebus.int64
    assert cebus.tensor([cebus.tensor(0.1, dtype=cebus.float64), 1.0]).tolist() == [0.1, 1]
    assert cebus.tensor([[], []]).dtype is cebus.tensor([]).dtype is cebus.float32


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "int64", "int32", "uint8",
                                  "bool"])
def test_numpy_round_trip_keeps_type_and_elements(name):
    array = (numpy.arange(24).reshape(2, 3, 4) % 2).astype(name)
    x = cebus.tensor(array)
    assert x.dtype is getattr(cebus, name)
    assert numpy.array_equal(x.numpy(), array) and x.numpy().dtype == array.dtype
    assert numpy.array_equal(cebus.from_numpy(array[:, ::2, ::-1]).numpy(), array[:, ::2, ::-1])


def test_numpy_shares_the_bytes_and_cannot_write_them():
    x = cebus.arange(6).reshape(2, 3)
    array = x.t().numpy()
    assert array.tolist() == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises(ValueError):
        array[0, 0] = 7
    with pytest.raises(RuntimeError, match="requires grad"):
        cebus.ones(2, requires_grad=True).numpy()


def test_bfloat16_goes_by_float():
    x = cebus.tensor([1.0, 2.5], dtype=cebus.bfloat16)
    assert x.tolist() == [1.0, 2.5] and x.dtype is cebus.bfloat16
    with pytest.raises(TypeError):
        x.numpy()


def test_bad_data_says_what_is_wrong():
    with pytest.raises(ValueError, match="expected sequence of length 2 at dim 1"):
        cebus.tensor([[1, 2], [3]])
    with pytest.raises(TypeError):
        cebus.tensor("text")
    with pytest.raises(TypeError):
        cebus.tensor(numpy.zeros(2, dtype="int8"))
    with pytest.raises(RuntimeError):
        cebus.tensor([300], dtype=cebus.uint8)
    with pytest.raises(RuntimeError):
        cebus.zeros(-1)
    for length in (2.5, "a", None):
        with pytest.raises(TypeError):
            cebus.zeros(length)
    with pytest.raises(TypeError):
        cebus.zeros(3)[::1.5]


def test_creation_functions():
    assert cebus.zeros(2, 3).tolist() == [[0] * 3] * 2
    assert cebus.ones((2,)).tolist() == [1, 1]
    assert cebus.full((2,), 7).dtype is cebus.int64
    assert cebus.arange(1, 2, 0.25).tolist() == [1, 1.25, 1.5, 1.75]
    assert cebus.arange(5).dtype is cebus.int64
    assert cebus.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert cebus.eye(2).tolist() == [[1, 0], [0, 1]]
    assert cebus.zeros_like(cebus.ones(3, dtype=cebus.int32)).dtype is cebus.int32
    assert cebus.empty(2, 2).shape == (2, 2)


def test_random_numbers_repeat_by_their_seed_and_look_right():
    cebus.manual_seed(7)
    first = cebus.randn(1000), cebus.rand(1000), cebus.randint(3, 9, (1000,)), cebus.randperm(50)
    cebus.manual_seed(7)
    again = cebus.randn(1000), cebus.rand(1000), cebus.randint(3, 9, (1000,)), cebus.randperm(50)
    assert all(cebus.equal(a, b) for a, b in zip(first, again))
    normal, uniform, whole, order = first
    assert abs(float(normal.mean())) < 0.2 and abs(float(normal.std()) - 1) < 0.1
    assert 0 <= float(uniform.min()) and float(uniform.max()) < 1
    assert int(whole.min()) == 3 and int(whole.max()) == 8
    assert sorted(order.tolist()) == list(range(50))
    draws = cebus.multinomial(cebus.tensor([0.0, 1.0, 3.0]), 2000, replacement=True)
    counts = cebus.bincount(draws, minlength=3).tolist()
    assert counts[0] == 0 and 2.4 < counts[2] / counts[1] < 3.8
    assert sorted(cebus.multinomial(cebus.ones(5), 5).tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("a, b, expected", [
    ("float32", "int64", "float32"), ("float16", "bfloat16", "float32"),
    ("int32", "int64", "int64"), ("uint8", "int32", "int32"), ("bool", "uint8", "uint8"),
    ("float32", "float64", "float64"), ("float16", "int64", "float16")])
def test_types_meet_as_in_pytorch(a, b, expected):
    x, y = (cebus.ones(2, dtype=getattr(cebus, name)) for name in (a, b))
    assert (x + y).dtype is getattr(cebus, expected) is (y + x).dtype
    assert cebus.promote_types(x.dtype, y.dtype) is getattr(cebus, expected)


def test_numbers_and_zero_dimensional_tensors_are_weak():
    i, f, d = cebus.tensor([1, 2]), cebus.ones(2), cebus.tensor(2.0, dtype=cebus.float64)
    assert (i + 1).dtype is cebus.int64 and (i + 1.5).dtype is cebus.float32
    assert (f + d).dtype is cebus.float32 and (i + d).dtype is cebus.float64
    assert (i / 2).tolist() == [0.5, 1] and (2 / i).tolist() == [2, 1]
    assert (cebus.tensor([True]) + 1).dtype is cebus.int64
    assert (f.half() * 2.0).dtype is cebus.float16


def test_operators_and_their_reflections():
    x = cebus.tensor([1.0, 2.0, 4.0])
    assert (3 - x).tolist() == [2, 1, -1] and (x - 3).tolist() == [-2, -1, 1]
    assert (x ** 2).tolist() == [1, 4, 16] and (2 ** x).tolist() == [2, 4, 16]
    assert (-x).tolist() == [-1, -2, -4] and abs(-x).tolist() == x.tolist()
    assert (x // 3).tolist() == [0, 0, 1] and (x % 3).tolist() == [1, 2, 1]
    assert (cebus.tensor([-7, 7]) // 2).tolist() == [-4, 3]
    assert (cebus.tensor([-7, 7]) % 3).tolist() == [2, 1]
    assert (x > 1.5).tolist() == [False, True, True] and (2 == x).tolist() == [False, True, False]
    assert ((x > 1) & (x < 3)).tolist() == [False, True, False]
    assert (~(x > 1)).tolist() == [True, False, False]
    assert x.div(3, rounding_mode="trunc").tolist() == [0, 0, 1]
    assert (numpy.float32(2) * x).tolist() == [2, 4, 8]
    with pytest.raises(TypeError):
        x + "text"
    assert (x == None) is False  # noqa: E711


def test_whole_numbers_beyond_doubles_keep_their_digits():
    big = (1 << 60) + 1
    assert (cebus.tensor([big]) + 0).item() == big
    assert (cebus.tensor([1]) * big).item() == big
    assert (cebus.tensor([big]) == big).item() is True
    below, most = -(1 << 63), (1 << 63) - 1
    for x in (big, -big, most, below + 1, below, 3 << 55, 7, -7, 0):
        for y in (3, -3, 10**9 + 7, 1 << 31, -(1 << 40), (1 << 54) + 1, big, -big, most, below, 1):
            a, b = cebus.tensor([x]), cebus.tensor([y])
            assert (a // b).item() == x // y and (a % b).item() == x % y, (x, y)
            assert (a // y).item() == x // y and (x % b).item() == x % y, (x, y)
            trunc = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            assert a.div(b, rounding_mode="trunc").item() == trunc, (x, y)
    assert (cebus.tensor([True, False]) // 1).tolist() == [1, 0]


def test_writes():
    x = cebus.ones(2, 2)
    y = x[0]
    x += 1
    x.mul_(3)
    assert y.tolist() == [6, 6]
    y.zero_()
    assert x.tolist() == [[0, 0], [6, 6]]
    x.sub_(cebus.tensor([1.0, 2.0]), alpha=2)
    assert x.tolist() == [[-2, -4], [4, 2]]
    assert x.relu_() is x and x.tolist() == [[0, 0], [4, 2]]
    i = cebus.tensor([1, 2])
    i *= 2
    assert i.tolist() == [2, 4]
    with pytest.raises(RuntimeError, match="can't be cast"):
        i += 1.5
    z = cebus.ones(3)
    z /= 3
    assert z[0].item() == numpy.float32(1) / numpy.float32(3)


def test_truth_and_numbers():
    assert bool(cebus.tensor(1)) and not bool(cebus.tensor([0.0]))
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(cebus.ones(2))
    assert [10, 20, 30][cebus.tensor(1)] == 20
    with pytest.raises(TypeError):
        [1][cebus.tensor(0.0)]
    assert float(cebus.tensor([2.5])) == 2.5 and int(cebus.tensor(7)) == 7
    assert f"{cebus.tensor(2.5):.2f}" == "2.50"
    with pytest.raises(RuntimeError):
        cebus.ones(2).item()


def test_functions_of_each_element_against_math():
    values = [-2.5, -1.0, -0.3, 0.0, 0.7, 1.5, 3.0]
    x = cebus.tensor(values, dtype=cebus.float64)
    for name, reference in [("exp", math.exp), ("sin", math.sin), ("cos", math.cos),
                            ("tanh", math.tanh), ("erf", math.erf), ("expm1", math.expm1),
                            ("sinh", math.sinh), ("cosh", math.cosh), ("ceil", math.ceil),
                            ("floor", math.floor), ("trunc", math.trunc), ("round", round),
                            ("tan", math.tan)]:
        found = getattr(x, name)().tolist()
        assert found == pytest.approx([reference(v) for v in values], rel=1e-12, abs=1e-15), name
    tiny = cebus.tensor([1e-12, 0.5, 2.0], dtype=cebus.float64)
    assert tiny.log1p().tolist() == pytest.approx([math.log1p(v) for v in (1e-12, 0.5, 2)],
                                                  rel=1e-14)
    assert cebus.tensor([0.5, 1.5, 2.5, -0.5]).round().tolist() == [0, 2, 2, 0]


def test_missing_names_are_answered_with_the_nearest():
    with pytest.raises(AttributeError, match="'permute'"):
        cebus.ones(2).permut
    with pytest.raises(AttributeError, match="'randn'"):
        cebus.rndn
    assert not hasattr(cebus.ones(1), "no_such_thing")


def test_tensors_print_as_in_pytorch():
    assert repr(cebus.tensor([1.0, 2.5])) == "tensor([1.0000, 2.5000])"
    assert repr(cebus.tensor([[1, 20], [3, 4]])) == "tensor([[ 1, 20],\n        [ 3,  4]])"
    assert repr(cebus.tensor(3.0)) == "tensor(3.)"
    assert repr(cebus.tensor([True])) == "tensor([True])"
    assert repr(cebus.ones(1, requires_grad=True)) == "tensor([1.], requires_grad=True)"
    assert repr(cebus.ones(2, dtype=cebus.float64)) == "tensor([1., 1.], dtype=cebus.float64)"
    assert repr(cebus.zeros(0)) == "tensor([])"
    assert repr(cebus.zeros(2)) == "tensor([0., 0.])" and repr(cebus.tensor(-0.0)) == "tensor(-0.)"
    assert repr(cebus.tensor([0.0, float("nan")])) == "tensor([0., nan])"
    assert "..." in repr(cebus.zeros(100, 100)) and len(repr(cebus.zeros(2000))) < 200
    assert repr(cebus.tensor([1e-6, 1.0])) == "tensor([1.0000e-06, 1.0000e+00])"


@pytest.mark.parametrize("wrong, says", [
    (lambda: cebus.ones(2).repeat(-1), "copies"),
    (lambda: cebus.ones(2).repeat(1 << 62), "copies"),
    (lambda: cebus.ones(2).repeat_interleave(-1), "negative"),
    (lambda: cebus.ones(2).repeat_interleave(cebus.tensor([1, -1])), "negative"),
    (lambda: cebus.ones(4).unfold(0, 5, 1), "windows of 5"),
    (lambda: cebus.ones(4).unfold(0, 2, 0), "step"),
    (lambda: cebus.normal(0.0, -1.0, (2,)), "std"),
    (lambda: cebus.ones(2).normal_(0.0, -1.0), "std"),
    (lambda: cebus.ones(2).bernoulli_(1.5), "in \\[0, 1\\]"),
    (lambda: cebus.zeros(0, 3).median(0), "no element"),
    (lambda: cebus.einsum("ii->ij", cebus.ones(2, 2)), "label 'j'")])
def test_arguments_out_of_range_are_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        wrong()


def test_borders_longer_than_what_they_mirror_are_refused():
    for mode, length in (("reflect", 4), ("circular", 5)):
        with pytest.raises(ValueError, match=f"mode '{mode}' allows {length - 1}"):
            cebus.nn.functional.pad(cebus.ones(1, 4), (length, length), mode=mode)


def test_scans_and_products_are_tensors_of_their_own():
    x = cebus.ones(1, 3)
    for made in (x.cumsum(0), x.cumprod(0), x.prod(0), x.logcumsumexp(0)):
        made.fill_(7)
    assert x.tolist() == [[1, 1, 1]]


def test_remainders_are_exact():
    x = cebus.tensor([1.0, 1e5, -7.0, 200.0])
    assert (x // 0.1)[0].item() == 9
    exact = [math.fmod(each, 6.25) for each in (1.0, 1e5, -7.0, 200.0)]
    assert (x * 1.1 % 3).dtype is cebus.float32 and x.fmod(6.25).tolist() == exact
    assert (x % 6.25).tolist() == [each % 6.25 for each in (1.0, 1e5, -7.0, 200.0)]
    assert (cebus.tensor(200.0, dtype=cebus.bfloat16) % 1.5).item() == 0.5
    assert (cebus.tensor(0.3, dtype=cebus.float64) % 0.1).item() == 0.3 % 0.1
    wrapped = cebus.tensor([7.5], requires_grad=True)
    (wrapped % 2).sum().backward()
    assert wrapped.grad.item() == 1


def test_whole_numbers_are_not_overwritten_by_fractions():
    i = cebus.arange(4)
    for call in (i.sigmoid_, i.exp_, lambda: i.pow_(-0.5), lambda: i.mul_(0.5)):
        with pytest.raises(RuntimeError, match="result type|floating-point"):
            call()
    assert i.tolist() == [0, 1, 2, 3] and cebus.ones(2).eq_(1).tolist() == [1, 1]


def test_advice_in_errors_is_in_python():
    with pytest.raises(RuntimeError, match="with cebus.no_grad"):
        cebus.ones(2, requires_grad=True).add_(1)
    with pytest.raises(RuntimeError, match=r"\.clone\(\) it first"):
        cebus.ones(1).expand(3).add_(1)


def test_elements_are_looked_for():
    x = cebus.arange(6.0).reshape(2, 3)
    assert 3 in x and 2.5 not in x and cebus.tensor(5.0) in x and x[0] in x
    with pytest.raises(RuntimeError, match="scalar, but you passed in a str"):
        assert "3" in x
