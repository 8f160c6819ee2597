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


def test_classes_that_are_floats_are_told_from_probabilities():
    with pytest.raises(ValueError, match=r"target.long\(\)"):
        functional.cross_entropy(one(2, 3), cebus.tensor([0.0, 1.0]))


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


SHAPES = {
    "trace of a batch": lambda: one(2, 2, 2).trace(),
    "diag of a batch": lambda: one(2, 2, 2).diag(),
    "vander of a matrix": lambda: cebus.vander(one(2, 2)),
    "cartesian_prod of a number": lambda: cebus.cartesian_prod(one(2), cebus.tensor(1.0)),
    "combinations of a matrix": lambda: cebus.combinations(one(2, 1)),
    "chain_matmul of a batch": lambda: cebus.chain_matmul(one(2, 3, 4), one(4, 2)),
    "cdist of other lengths": lambda: cebus.cdist(one(5, 1), one(4, 3)),
    "cross along ones": lambda: cebus.cross(one(4, 1), one(4, 3)),
    "hsplit that leaves some": lambda: cebus.hsplit(one(2, 3), 2),
    "vsplit that leaves some": lambda: cebus.vsplit(one(3, 1), 2),
    "dsplit that leaves some": lambda: cebus.dsplit(one(3, 1, 3), 2),
    "select_scatter of one": lambda: one(3, 4).select_scatter(one(1), 0, 0),
    "slice_scatter of one": lambda: one(3, 4).slice_scatter(one(1, 4), 0, 0, 2),
    "diagonal_scatter of more": lambda: one(3, 4).diagonal_scatter(one(4)),
    "fill_diagonal_ of a vector": lambda: one(3).fill_diagonal_(1.0),
    "fill_diagonal_ of a block": lambda: one(3, 4, 1).fill_diagonal_(1.0),
    "index_add of more": lambda: one(3, 4).index_add(0, cebus.tensor([0]), one(5, 4)),
    "index_add of longer": lambda: one(3, 4).index_add(0, cebus.tensor([0]), one(1, 5)),
    "index_add by a matrix": lambda: one(3, 4).index_add(0, cebus.tensor([[0]]), one(1, 4)),
    "index_add of another type":
        lambda: one(3, 4).index_add(0, cebus.tensor([0]), one(1, 4).double()),
    "index_copy of longer": lambda: one(3, 4).index_copy(0, cebus.tensor([0]), one(1, 5)),
    "index_fill by a matrix": lambda: one(3, 4).index_fill(0, cebus.tensor([[0]]), 1.0),
    "take_along_dim of other rows":
        lambda: cebus.take_along_dim(one(3, 4), cebus.tensor([[0], [1]]), 1),
    "renorm of a vector": lambda: one(3).renorm(2, 0, 1.0),
    "einsum of a diagonal that is none": lambda: cebus.einsum("ii->i", one(3, 4)),
    "einsum with a digit": lambda: cebus.einsum("i1", one(2, 3)),
    "prelu by a matrix": lambda: functional.prelu(one(3, 4), one(1, 4)),
    "pdist of a batch": lambda: functional.pdist(one(3, 2, 2)),
    "margins of a number":
        lambda: functional.margin_ranking_loss(one(5), cebus.tensor(1.0), one(5)),
    "triplets of vectors and matrices":
        lambda: functional.triplet_margin_loss(one(4), one(3, 4), one(3, 4)),
    "soft margins that broadcast": lambda: functional.soft_margin_loss(one(1, 4), one(3, 4)),
    "margins of one target": lambda: functional.multi_margin_loss(one(3, 4), cebus.tensor(1)),
    "variances of more dimensions":
        lambda: functional.gaussian_nll_loss(one(3, 4), one(3, 4), one(1, 3, 4)),
    "variances below 0": lambda: functional.gaussian_nll_loss(one(3), one(3), -one(3)),
    "a negative beta": lambda: functional.smooth_l1_loss(one(3), one(3), beta=-1.0),
    "a delta of 0": lambda: functional.huber_loss(one(3), one(3), delta=0.0),
    "probabilities to ignore":
        lambda: functional.cross_entropy(one(3, 4), one(3, 4) / 4, ignore_index=2),
    "bags without offsets": lambda: functional.embedding_bag(cebus.tensor([1, 2]), one(5, 2)),
    "pools of five dimensions": lambda: functional.adaptive_max_pool2d(one(2, 3, 7, 8, 1), 2),
}


@pytest.mark.parametrize("what", SHAPES)
def test_refused_shapes(what):
    with pytest.raises((ValueError, TypeError, IndexError)):
        SHAPES[what]()


@pytest.mark.parametrize("pads", [(5, 6), (6,)])
def test_reflection_pads_what_has_channels(pads):
    with pytest.raises(NotImplementedError):
        functional.pad(one(*pads), (1, 1) * len(pads), "reflect")


def test_none_is_no_tensor():
    x = one(3)
    for call in (lambda: cebus.where(None, x, x), lambda: x.minimum(None),
                 lambda: x.gather(0, None), lambda: functional.conv2d(None, x)):
        with pytest.raises((AttributeError, TypeError, ValueError)):
            call()


def test_nothing_has_answers():
    none, inf = one(0), math.inf
    assert none.median().isnan() and none.nanmedian().isnan() and none.norm(inf).item() == 0
    assert one(0, 4).norm(inf, 0).tolist() == [0, 0, 0, 0]
    assert cebus.trapezoid(none).item() == 0 and functional.glu(none).shape == (0,)
    assert [part.shape for part in none.chunk(3)] == [(0,), (0,), (0,)]
    assert cebus.nan_to_num(cebus.tensor([1, 2])).tolist() == [1, 2]


def test_whole_numbers_between_fractions_are_fractions():
    x = cebus.tensor([1, 5, 9])
    assert x.clamp(0.5, 4.5).tolist() == [1.0, 4.5, 4.5] and x.clamp_min(2.5).dtype == cebus.float32
    assert x.clamp(2, 8).tolist() == [2, 5, 8] and x.clamp(2, 8).dtype == cebus.int64


def test_one_image_without_a_batch_is_convolved_back():
    image, kernel = cebus.arange(20.0).reshape(4, 5), one(4, 3, 3)
    found = functional.conv_transpose1d(image, kernel)
    assert found.equal(functional.conv_transpose1d(image.unsqueeze(0), kernel)[0])
    image, kernel = cebus.arange(36.0).reshape(4, 3, 3), one(4, 3, 3, 3)
    found = functional.conv_transpose2d(image, kernel)
    assert found.equal(functional.conv_transpose2d(image.unsqueeze(0), kernel)[0])


def test_what_is_taken_along_a_dimension_is_broadcast_beside_it():
    x = cebus.arange(12.0).reshape(3, 4)
    assert x.take_along_dim(cebus.tensor([[1]]), 1).tolist() == [[1], [5], [9]]


@pytest.mark.parametrize("shape", [(2, 4, 0, 3), (2, 4, 0), (2, 4, 3, 0)])
def test_normalized_groups_without_pixels_give_their_weights_nothing(shape):
    kept = [cebus.full((64,), 7.0) for _ in range(200)]  # what workspace is made of next
    del kept
    weight, bias = [cebus.ones(4, requires_grad=True) for _ in range(2)]
    x = cebus.zeros(shape, requires_grad=True)
    functional.group_norm(x, 2, weight, bias).sum().backward()
    assert weight.grad.tolist() == [0] * 4 and bias.grad.tolist() == [0] * 4


def test_labels_of_two_lengths_are_named():
    with pytest.raises(ValueError, match="'j' of 'ij,jk' has length 4 in operand 1, and 3 before"):
        cebus.einsum("ij,jk", one(2, 3), one(4, 5))
    assert cebus.einsum("ij,jk->ik", one(2, 1), one(4, 5)).shape == (2, 5)


def within(graph, call):
    with graph:
        call()


ADVICE = {
    "matmul": lambda: cebus.tensor(2.0) @ one(3),
    "device": lambda: one(3) + cebus.ones(3, device="sim:p100-16g"),
    "trace_stop": lambda: cebus.trace_stop(),
    "watch": lambda: cebus.capture().last(),
    "capture": lambda: within(cebus.capture(), lambda: within(cebus.capture(), one)),
    "leaf": lambda: cebus.ones(2, requires_grad=True).add_(1),
    "type": lambda: cebus.conv2d(one(1, 1, 3, 3), one(1, 1, 2, 2).long()),
}


@pytest.mark.parametrize("what", ADVICE)
def test_what_to_do_is_said_in_python(what):
    with pytest.raises(RuntimeError) as refused:
        ADVICE[what]()
    assert "cebus_" not in str(refused.value)
