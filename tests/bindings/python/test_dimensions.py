"""Dimensions: those that a tensor does not have are refused; numbers have 0 and -1; empty ones."""
import pytest

import cebus
from cebus.nn import functional

MATRIX, NUMBER, EMPTY = cebus.ones(2, 3), cebus.tensor(3.0), cebus.ones(2, 0)

ALONG = {
    "cummax": lambda x, d: x.cummax(d),
    "cumprod": lambda x, d: x.cumprod(d),
    "cumsum": lambda x, d: x.cumsum(d),
    "flip": lambda x, d: x.flip(d),
    "kthvalue": lambda x, d: x.kthvalue(1, d),
    "logcumsumexp": lambda x, d: x.logcumsumexp(d),
    "median": lambda x, d: x.median(d),
    "mode": lambda x, d: x.mode(d),
    "movedim": lambda x, d: x.movedim(0, d),
    "nanmedian": lambda x, d: x.nanmedian(d),
    "prod": lambda x, d: x.prod(d),
    "quantile": lambda x, d: x.quantile(0.5, d),
    "sort": lambda x, d: x.sort(d),
    "squeeze": lambda x, d: x.squeeze(d),
    "std": lambda x, d: x.std(d),
    "topk": lambda x, d: x.topk(1, d),
}
OF_TWO = {
    "diag_embed": lambda x, d: cebus.diag_embed(x, 0, 0, d + (1 if d > 0 else -1)),
    "renorm": lambda x, d: x.renorm(2, d, 1.0),
    "rot90": lambda x, d: x.rot90(1, (0, d)),
    "slice_scatter": lambda x, d: x.slice_scatter(x, d),
    "tensordot": lambda x, d: cebus.tensordot(x, x, ([d], [0])),
    "unflatten": lambda x, d: x.unflatten(d, (1, -1)),
}


@pytest.mark.parametrize("name", {**ALONG, **OF_TWO})
@pytest.mark.parametrize("dim", [2, -3, 7])
def test_a_dimension_that_is_not_there_is_refused(name, dim):
    with pytest.raises(IndexError):
        {**ALONG, **OF_TWO}[name](MATRIX, dim)


@pytest.mark.parametrize("name", ALONG)
def test_a_number_has_dimensions_0_and_minus_1(name):
    for dim in (0, -1):
        seen = ALONG[name](NUMBER, dim)
        seen = seen[0] if isinstance(seen, tuple) else seen
        assert seen.shape == () and (seen.item() == 3 or name == "std" and seen.isnan())
    with pytest.raises(IndexError):
        ALONG[name](NUMBER, 1)


def test_a_dimension_named_twice_is_refused():
    for call in (lambda: MATRIX.flip(0, -2), lambda: MATRIX.rot90(1, (1, -1))):
        with pytest.raises(ValueError, match="more than once|twice"):
            call()


@pytest.mark.parametrize("dims", [-1, 3])
def test_tensordot_refuses_more_dimensions_than_there_are(dims):
    with pytest.raises(ValueError, match="tensordot"):
        cebus.tensordot(MATRIX, MATRIX, dims)


def test_glu_halves_even_lengths_alone():
    assert functional.glu(cebus.ones(2, 4)).shape == (2, 2)
    with pytest.raises(ValueError, match="must be even"):
        functional.glu(MATRIX)


@pytest.mark.parametrize("dim", [None, 1])
def test_a_product_of_nothing_is_one_and_has_a_gradient(dim):
    x = cebus.ones(2, 0, requires_grad=True)
    product = x.prod(dim) if dim is not None else x.prod()
    assert product.reshape(-1).tolist() == ([1.0] if dim is None else [1.0, 1.0])
    product.sum().backward()
    assert x.grad.shape == (2, 0)


def test_empty_tensors_are_written_multiplied_and_spread():
    whole = EMPTY.long()
    assert whole.index_copy(0, cebus.tensor([0]), whole[:1]).shape == (2, 0)
    assert cebus.tensordot(EMPTY, EMPTY, 2).item() == 0
    assert cebus.diag_embed(EMPTY, 0, 0, 1).shape == (0, 0, 2)


def test_sums_of_what_is_not_nan_keep_whole_numbers():
    assert cebus.nansum(cebus.tensor([1 << 40, 1])).tolist() == (1 << 40) + 1


@pytest.mark.parametrize("kind", [cebus.uint8, cebus.int32, cebus.int64])
@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_scatter_reduce_without_the_old_values_takes_the_new_whatever_they_are(kind, reduce):
    x, index = cebus.tensor([5, 7, 9]).to(kind), cebus.tensor([0, 0, 1])
    for low, high in ((0, 255),) + (((-1 << 40, 1 << 40),) if kind is cebus.int64 else ()):
        source = cebus.tensor([low, low, low] if reduce == "amax" else [high, high, high]).to(kind)
        seen = x.scatter_reduce(0, index, source, reduce, include_self=False)
        assert seen.tolist() == source.tolist()[:2] + [9]


def test_narrow_refuses_lengths_that_overflow():
    for start, length in (((1 << 63) - 1, 1 << 61), (1, (1 << 63) - 1), (-1 << 63, 1), (4, 0)):
        with pytest.raises(IndexError):
            MATRIX.narrow(1, start, length)
    assert MATRIX.narrow(1, 3, 0).shape == (2, 0)


@pytest.mark.parametrize("kind", [cebus.nn.LSTM, cebus.nn.GRU, cebus.nn.RNN])
def test_recurrent_layers_are_at_least_one_and_have_their_weights(kind):
    with pytest.raises(ValueError, match="num_layers"):
        kind(2, 3, num_layers=0)
    layer = kind(2, 3)
    layer.num_layers = 2
    with pytest.raises((ValueError, AttributeError)):
        layer(cebus.ones(1, 1, 2))
    if kind is not cebus.nn.RNN:
        with pytest.raises(ValueError, match="weights of 0 cells"):
            cebus._core.recurrent(kind.__name__.lower(), cebus.ones(1, 1, 2), None, None, [], 0,
                                  False, False, 0.0, False)
