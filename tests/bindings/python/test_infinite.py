"""Divisions by infinity, numbers beyond f32, and what is written into other types."""
import math
import random

import numpy
import pytest

import cebus

INF = math.inf


@pytest.mark.parametrize("kind", [cebus.float32, cebus.float64])
def test_what_infinity_divides_is_left_as_it_is(kind):
    x = cebus.tensor([-5.0, 0.0, 7.0], dtype=kind)
    assert (x % INF).tolist() == [INF, 0, 7] and (x % -INF).tolist() == [-5, 0, -INF]
    assert x.fmod(INF).tolist() == [-5, 0, 7] and x.fmod(-INF).tolist() == [-5, 0, 7]
    assert (x // INF).tolist() == [-1, 0, 0] and (x // -INF).tolist() == [0, 0, -1]
    lost = cebus.tensor([INF, -INF], dtype=kind)
    assert (lost // 2.0).isnan().all() and (lost % 2.0).isnan().all()
    assert (x // 0.0).tolist()[::2] == [-INF, INF] and (x // 2.0).tolist() == [-3, 0, 3]


def test_remainders_of_float64_are_exact_as_pythons():
    """Also where the quotient rounds up to a whole number that it does not reach (1 / 0.1)."""
    rng = random.Random(0)
    pairs = [(1.0, 0.1), (-1.0, 0.1), (1.0, -0.1), (7.0, 0.7), (1e-310, 3e-312), (1e300, 1e290),
             (1e308, 7e300), (-1e-20, 1.0), (9e15, 1.1), (0.0, 3.0)]
    huge = [(1e300, 3.0), (-1e300, 7e-300), (1.7e308, 5e-324), (-2.0 ** 80, 3.3), (1e22, -0.7)]
    for _ in range(2000):
        low = rng.choice((-1, 1)) * rng.uniform(1, 2) * 2.0 ** rng.randint(-900, 900)
        some = low * rng.choice((rng.randint(0, 1 << 30), rng.uniform(-9, 9), 0.1))
        pairs.append((some, low))
    a, b = (cebus.tensor(list(each), dtype=cebus.float64) for each in zip(*pairs))
    assert (a % b).tolist() == [x % y for x, y in pairs]
    assert (a // b).tolist() == [x // y for x, y in pairs]
    assert a.fmod(b).tolist() == [math.fmod(x, y) for x, y in pairs]
    assert (a % 0.1)[0] == 1.0 % 0.1 and (3.0 // b)[0] == 3.0 // 0.1
    x, y = (cebus.tensor(list(each), dtype=cebus.float64) for each in zip(*huge))
    assert (x % y).tolist() == [high % low for high, low in huge]
    assert x.fmod(y).tolist() == [math.fmod(high, low) for high, low in huge]
    assert cebus.tensor(1e30).fmod(7.0).item() == math.fmod(float(numpy.float32(1e30)), 7.0)
    a, b = a[:4].requires_grad_(), b[:4].requires_grad_()
    (a % b).sum().backward()
    assert a.grad.tolist() == [1] * 4 and b.grad.tolist() == [-9, 10, 10, -10]


def test_remainders_by_infinity_have_gradients():
    x = cebus.tensor([-5.0, 7.0], requires_grad=True)
    (x % INF).nan_to_num(posinf=0.0).sum().backward()
    assert x.grad[1].item() == 1
    low = cebus.tensor([INF, 2.0, 1e-30], requires_grad=True)
    cebus.tensor([7.0, 7.0, 1e30]).fmod(low).sum().backward()
    assert low.grad[:2].tolist() == [0, -3] and not low.grad.isnan().any()


def test_numbers_are_written_with_all_their_digits():
    x = cebus.zeros(3, dtype=cebus.float64)
    assert x.copy_(0.1).tolist() == [0.1] * 3 and x.copy_(1e300).tolist() == [1e300] * 3
    x[1] = 0.7
    assert x[1].item() == 0.7 and cebus.zeros(1).copy_(2.5).tolist() == [2.5]
    assert cebus.zeros(1, dtype=cebus.int64).copy_(2.5).tolist() == [2]


def test_products_with_logarithms_are_of_the_type_of_both():
    x = cebus.tensor([2.0, 0.0], dtype=cebus.float64)
    assert x.xlogy(1e300).tolist() == [2 * math.log(1e300), 0]
    assert x.half().xlogy(2.0).dtype == cebus.float16
    assert x.float().xlogy(cebus.tensor(3.0, dtype=cebus.float64)).dtype == cebus.float32
    whole = cebus.tensor(3, dtype=cebus.int64)
    assert x[0].xlogy(whole).item() == 2 * math.log(3)
    assert x.xlogy(math.nan).isnan().all()


def test_truths_are_added_in_place():
    x = cebus.tensor([True, False, False])
    x += cebus.tensor([True, True, False])
    assert x.tolist() == [True, True, False] and x.dtype == cebus.bool
