"""Operands that do not go together are refused, as by PyTorch, and not read in some other way."""
import math

import pytest

import cebus
from cebus.nn import functional


def one(*shape):
    return cebus.ones(*shape)


REFUSED = {
    "a grid of matrices": lambda: cebus.meshgrid(one(2, 2), one(3)),
    "a grid of two types": lambda: cebus.meshgrid(one(2), one(3).double()),
    "a grid of nothing": lambda: cebus.meshgrid(),
    "a grid of unknown order": lambda: cebus.meshgrid(one(2), one(3), indexing="zz"),
    "outer of a matrix": lambda: cebus.outer(one(2, 2), one(2)),
    "outer of a number": lambda: cebus.outer(cebus.tensor(1.0), one(2)),
    "mv by a matrix": lambda: cebus.mv(one(2, 3), one(3, 1)),
    "mv of a vector": lambda: cebus.mv(one(3), one(3)),
    "mv of a batch": lambda: cebus.mv(one(2, 2, 3), one(3)),
    "bmm of two batches": lambda: cebus.bmm(one(1, 2, 2), one(2, 2, 2)),
    "addr of a matrix": lambda: cebus.addr(one(2, 3), one(2, 1), one(3)),
    "addr to more": lambda: cebus.addr(one(1, 2, 3), one(2), one(3)),
    "addmm of vectors": lambda: cebus.addmm(one(2, 3), one(2), one(2, 3)),
    "addmm to more": lambda: cebus.addmm(one(2, 2, 3), one(2, 2), one(2, 3)),
    "addmv of matrices": lambda: cebus.addmv(one(2), one(2, 2), one(2, 1)),
    "baddbmm of two batches": lambda: cebus.baddbmm(one(2, 2), one(1, 2, 2), one(4, 2, 2)),
    "addbmm of matrices": lambda: cebus.addbmm(one(2, 2), one(2, 2), one(2, 2)),
    "cross of other dimensions": lambda: cebus.cross(one(3), one(2, 3)),
    "masked_scatter of too few": lambda: one(2, 3).masked_scatter(one(2, 3).bool(), one(5)),
    "masked_scatter of none": lambda: one(2, 3).masked_scatter(one(2, 3).bool(), one(0)),
    "masked_scatter by numbers": lambda: one(2, 3).masked_scatter(one(2, 3), one(6)),
    "masked_scatter of another type":
        lambda: one(2).masked_scatter(one(2).bool(), one(2).double()),
    "put of too many": lambda: one(3).put(cebus.tensor([0, 1]), one(3)),
    "put of too few": lambda: one(3).put_(cebus.tensor([0, 1]), one(1)),
    "put beyond the end": lambda: one(3).put(cebus.tensor([0, 3]), one(2)),
    "put before the beginning": lambda: one(3).put(cebus.tensor([0, -4]), one(2)),
    "put by int32": lambda: one(3).put(cebus.tensor([0, 1]).int(), one(2)),
    "put of another type": lambda: one(3).put(cebus.tensor([0, 1]), one(2).double()),
    "unfold of a matrix": lambda: functional.unfold(one(5, 5), 2),
    "unique rows of nothing": lambda: one(3, 0).unique(dim=0),
    "unique slices of a number": lambda: cebus.tensor(1.0).unique(dim=0),
    "unique in a third dimension": lambda: one(2, 2).unique(dim=2),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    with pytest.raises((ValueError, TypeError, IndexError)):
        REFUSED[what]()


def test_what_a_factor_of_0_scales_is_not_read():
    lost, matrix = cebus.full((2, 2), math.nan, requires_grad=True), one(2, 2)
    for found in (cebus.addmm(lost, matrix, matrix, beta=0),
                  cebus.addr(lost, one(2), one(2), beta=0),
                  cebus.addmv(lost[0], matrix, one(2), beta=0),
                  cebus.addbmm(lost, one(3, 2, 2), one(3, 2, 2), beta=0)):
        assert found.isfinite().all()
    cebus.addmm(lost, matrix, matrix, beta=0).sum().backward()
    assert lost.grad.tolist() == [[0, 0], [0, 0]]


def test_slices_that_are_different():
    x = cebus.tensor([[3, 1, 3], [3, 1, 3], [0, 2, 0]])
    rows, inverse, counts = x.unique(return_inverse=True, return_counts=True, dim=0)
    assert rows.tolist() == [[0, 2, 0], [3, 1, 3]]
    assert inverse.tolist() == [1, 1, 0] and counts.tolist() == [1, 2]
    assert x.unique(dim=-1).tolist() == [[1, 3], [1, 3], [2, 0]]
    assert cebus.tensor([2.0, math.nan, 1.0, math.nan]).unique().tolist()[:2] == [1, 2]
    rows, inverse, counts = x.flip(0).unique_consecutive(True, True, dim=0)
    assert rows.tolist() == [[0, 2, 0], [3, 1, 3]]
    assert inverse.tolist() == [0, 1, 1] and counts.tolist() == [1, 2]
    assert x.unique_consecutive(dim=1).shape == (3, 3)
    assert cebus.zeros(0, 3).unique_consecutive(True, True, dim=0)[0].shape == (0, 3)


def test_windows_of_one_image():
    x = cebus.arange(18.0).reshape(2, 3, 3).requires_grad_()
    windows = functional.unfold(x, 2)
    assert windows.equal(functional.unfold(x.unsqueeze(0), 2)[0]) and windows.shape == (8, 4)
    windows.sum().backward()
    assert x.grad[0].tolist() == [[1, 2, 1], [2, 4, 2], [1, 2, 1]]


def test_lengths_and_deviations_whose_squares_do_not_fit():
    x = cebus.tensor([3e19, 1e-30, 0.0], requires_grad=True)
    found = x.hypot(cebus.tensor([4e19, 1e-30, 1.0]))
    assert found.tolist() == pytest.approx([5e19, math.sqrt(2) * 1e-30, 1.0])
    found.sum().backward()
    assert x.grad.tolist() == pytest.approx([0.6, math.sqrt(0.5), 0.0])
    large = cebus.tensor([1e200], dtype=cebus.float64)
    assert large.hypot(large).item() == pytest.approx(math.sqrt(2) * 1e200, rel=1e-14)
    assert cebus.tensor([math.inf]).hypot(cebus.tensor([math.nan])).item() == math.inf
    assert cebus.tensor([300.0]).half().hypot(cebus.tensor([400.0]).half()).item() == 500
    x = cebus.tensor([[1e-25, 1.0, 3e20], [2e-25, 2.0, 5e20]], requires_grad=True)
    found = x.std(0)
    assert found.tolist() == pytest.approx([0.5 ** 0.5 * n for n in (1e-25, 1, 2e20)])
    found.sum().backward()
    assert x.grad[1].tolist() == pytest.approx([0.5 ** 0.5] * 3, rel=1e-4)
    assert cebus.tensor([1.0, math.inf]).std().isnan() and one(0, 3).std(0).isnan().all()


@pytest.mark.parametrize("function, data, slopes", [
    (functional.relu6, [-1.0, 0.0, 3.0, 6.0, 7.0], [0, 0, 1, 0, 0]),
    (functional.hardtanh, [-2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 1, 0, 0]),
    (functional.hardsigmoid, [-4.0, -3.0, 0.0, 3.0, 4.0], [0, 0, 1 / 6, 0, 0]),
    (functional.hardswish, [-4.0, -3.0, 0.0, 3.0, 4.0], [0, -0.5, 0.5, 1.5, 1]),
    (lambda x: x.clamp(-1, 1), [-2.0, -1.0, 0.0, 1.0, 2.0], [0, 1, 1, 1, 0])])
def test_slopes_at_bounds(function, data, slopes):
    x = cebus.tensor(data, requires_grad=True)
    function(x).sum().backward()
    assert x.grad.tolist() == pytest.approx(slopes)
