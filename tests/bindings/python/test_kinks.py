"""Gradients where formulas have a kink or a pole, and activations that write their input."""
import math

import pytest

import cebus
from cebus import nn
from cebus.nn import functional


def gradient(function, data):
    x = cebus.tensor(data, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize("function", [
    lambda x: x.norm(), lambda x: x.norm(3, 0), lambda x: cebus.dist(x, x.detach()),
    lambda x: x.std(), lambda x: x.std(0, unbiased=False), lambda x: cebus.linalg.vector_norm(x),
    lambda x: functional.cosine_similarity(x, x, 0)])
def test_norms_and_deviations_have_no_gradient_at_zero(function):
    assert gradient(function, [0.0, 0.0, 0.0]) == [0.0, 0.0, 0.0]


def test_norms_keep_their_gradient_elsewhere():
    assert gradient(lambda x: x.norm(2, 1), [[3.0, 4.0], [0.0, 0.0]]) == [
        [pytest.approx(0.6), pytest.approx(0.8)], [0.0, 0.0]]
    assert math.isnan(cebus.tensor([1.0, math.nan], requires_grad=True).norm().item())


def test_rows_of_zeros_are_normalized():
    assert gradient(lambda x: functional.normalize(x), [[0.0, 0.0]])[0][0] == pytest.approx(1e12)


def test_distances_of_rows_to_themselves_have_a_gradient():
    x = cebus.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    cebus.cdist(x, x)[0].sum().backward()
    assert x.grad.tolist() == [[pytest.approx(-0.6), pytest.approx(-0.8)],
                               [pytest.approx(0.6), pytest.approx(0.8)]]


def test_cosines_of_what_is_broadcast_are_cosines():
    rows, column = cebus.tensor([[1.0, 2.0], [3.0, 4.0]]), cebus.tensor([[2.0], [5.0]])
    seen = functional.cosine_similarity(rows, column, 1).tolist()
    assert seen == pytest.approx([3 / math.sqrt(10), 7 / math.sqrt(50)])


@pytest.mark.parametrize("target, slope", [(0.0, 0.5), (1.0, -0.5)])
def test_cross_entropy_of_logits_slopes_at_zero(target, slope):
    def loss(x):
        return functional.binary_cross_entropy_with_logits(x, cebus.tensor([target]))
    assert gradient(loss, [0.0]) == [slope]


def test_binary_cross_entropy_is_sure_of_zeros_and_ones():
    target = cebus.tensor([0.0, 1.0, 1.0, 0.25])
    loss = functional.binary_cross_entropy(cebus.tensor([0.0, 1.0, 0.0, 0.5]), target,
                                           reduction="none")
    assert loss.tolist() == pytest.approx([0.0, 0.0, 100.0, math.log(2)])
    seen = gradient(lambda x: functional.binary_cross_entropy(x, target, reduction="sum"),
                    [0.0, 1.0, 0.0, 0.5])
    assert seen == pytest.approx([0.0, 0.0, -1e12, 1.0])
    saturated = gradient(lambda x: functional.binary_cross_entropy(x.sigmoid(), target),
                         [-200.0, 200.0, -200.0, 0.0])
    assert saturated == pytest.approx([0.0, 0.0, 0.0, 0.0625])


def test_binary_cross_entropy_differentiates_its_target():
    target = cebus.tensor([0.25], requires_grad=True)
    x = cebus.tensor([0.75], requires_grad=True)
    functional.binary_cross_entropy(x, target).backward()
    assert target.grad.item() == pytest.approx(-math.log(3))
    assert x.grad.item() == pytest.approx(0.5 / 0.1875)


def test_leaky_units_leak_at_zero():
    assert gradient(lambda x: functional.leaky_relu(x, 0.25), [0.0, -1.0, 1.0]) == [0.25, 0.25, 1]
    weight = cebus.tensor([0.25], requires_grad=True)
    assert gradient(lambda x: functional.prelu(x, weight), [0.0, -2.0, 1.0]) == [0.25, 0.25, 1]
    assert weight.grad.tolist() == [-2.0]


def test_of_nan_the_median_is_nan():
    x = cebus.tensor([[1.0, math.nan, 0.0], [1.0, 2.0, 0.0]])
    values, indices = x.median(1)
    assert math.isnan(values[0].item()) and values[1].item() == 1 and indices.tolist() == [1, 0]
    assert math.isnan(x.median().item())


@pytest.mark.parametrize("name", "ReLU ReLU6 LeakyReLU ELU CELU SELU SiLU Mish Hardtanh Hardswish "
                         "Hardsigmoid RReLU Dropout Dropout1d AlphaDropout".split())
def test_in_place_means_in_place(name):
    module = getattr(nn, name)(inplace=True).train(name != "RReLU")
    x = cebus.linspace(-2, 8, 24).reshape(2, 3, 4)
    before = x.clone()
    found = module(x)
    assert found is x and not x.equal(before)
    assert functional.threshold(before, 0.0, 3.0, True) is before and before.min().item() > 0


def test_what_is_written_in_place_has_its_gradient():
    def loss(x):
        y = x * 1
        functional.leaky_relu(y, 0.25, inplace=True)
        return y
    assert gradient(loss, [-2.0, 2.0]) == [0.25, 1.0]


def test_sizes_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="not as long"):
        cebus.tensordot(cebus.ones(3, 2), cebus.ones(2, 3), 2)
    with pytest.raises(ValueError, match="index_copy"):
        cebus.ones(3, 2).index_copy(0, cebus.tensor([0]), cebus.ones(3, 2))


def test_indices_count_from_the_end_and_numbers_are_blocks():
    assert cebus.zeros(3).index_fill(0, cebus.tensor([-1]), 2.0).tolist() == [0, 0, 2]
    assert cebus.block_diag(cebus.ones(1, 1), cebus.tensor(2.0)).tolist() == [[1, 0], [0, 2]]
    assert cebus.inner(cebus.tensor(2.0), cebus.ones(2)).tolist() == [2, 2]
