"""Views and indexing, held against NumPy, which has the same rules."""
import numpy
import pytest

import cebus

ARRAY = numpy.arange(60, dtype="float32").reshape(3, 4, 5)
MASK = (numpy.arange(12).reshape(3, 4) % 3 == 0)

KEYS = [
    0, -1, (1, 2), (1, 2, 3), slice(None), slice(1, 3), slice(None, None, 2), Ellipsis,
    (Ellipsis, 0), (0, Ellipsis), (None, 1), (slice(None), None, 2), (1, slice(0, 4, 3), -2),
    (slice(5, 2),), (slice(-2, None), slice(None, -1)), [0, 2], [-1, 0, 0], (slice(None), [3, 1]),
    ([0, 1], [2, 3]), ([0, 1], slice(None), [4, 0]), (Ellipsis, [0, 0, 4]), ([[0, 1], [2, 0]],),
    ([[0], [2]], [1, 3]), (slice(None), [0, 1], [2, 3]), (0, [1, 2]), MASK, ARRAY > 30,
    MASK[0:3, 0],
    (slice(None), MASK[1]), (MASK, 2), (None, [1, 0], Ellipsis), (numpy.int64(2), 1),
    True, False, (True, True), (True, False), (True, [0, 2]), ([0, 1], True, [1, 2]), ([2], False),
    (slice(None), True, [1, 2]), ([0, 1], slice(None), True), (None, [0, 1], None, [3, 1]),
]


def ours(key):
    """The key with tensors in the place of arrays."""
    if isinstance(key, tuple):
        return tuple(ours(each) for each in key)
    return cebus.tensor(key) if isinstance(key, numpy.ndarray) else key


@pytest.mark.parametrize("key", KEYS, ids=lambda key: str(key)[:40].replace("\n", " "))
def test_reads_as_numpy_does(key):
    x = cebus.tensor(ARRAY)
    expected = ARRAY[key]
    found = x[ours(key)]
    assert tuple(found.shape) == expected.shape
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("key", KEYS, ids=lambda key: str(key)[:40].replace("\n", " "))
def test_writes_as_numpy_does(key):
    for value in (7.0, None):
        expected, x = ARRAY.copy(), cebus.tensor(ARRAY)
        if value is None:
            fresh = -numpy.arange(expected[key].size, dtype="float32").reshape(expected[key].shape)
            expected[key], x[ours(key)] = fresh, cebus.tensor(fresh)
        else:
            expected[key] = value
            x[ours(key)] = value
        assert x.tolist() == expected.tolist()


@pytest.mark.parametrize("key", KEYS, ids=lambda key: str(key)[:40].replace("\n", " "))
def test_gradients_come_back_to_where_they_were_read(key):
    x = cebus.tensor(ARRAY, requires_grad=True)
    x[ours(key)].sum().backward()
    expected = numpy.zeros_like(ARRAY)
    numpy.add.at(expected, key, 1)
    assert x.grad.tolist() == expected.tolist()


def test_views_share_their_bytes():
    x = cebus.zeros(4, 4)
    x[1:3, ::2] += 1
    x.t()[0] = 5
    x.view(2, 8)[0, 1] = 9
    expected = numpy.zeros((4, 4), dtype="float32")
    expected[1:3, ::2] += 1
    expected.T[0] = 5
    expected.reshape(2, 8)[0, 1] = 9
    assert x.tolist() == expected.tolist()


def test_flags_are_copied_and_lists_of_more_than_numbers_are_tuples():
    x = cebus.tensor(ARRAY)
    x[True].zero_()
    assert x.tolist() == ARRAY.tolist()
    flag, i, j = cebus.tensor(True), cebus.tensor([0, 1]), cebus.tensor([2, 3])
    assert x[flag, i].tolist() == ARRAY[[0, 1]].tolist()
    assert x[cebus.tensor(1, dtype=cebus.uint8)].shape == (1, 3, 4, 5)
    for key in ([i, j], [[0, 1], [2, 3]], [i, [2, 3]]):
        assert x[key].tolist() == ARRAY[[0, 1], [2, 3]].tolist()
    assert x[[0, slice(None), None]].shape == (4, 1, 5) and x[[Ellipsis, 0]].shape == (3, 4)
    x[[i, j]] = 7
    assert x[0, 2].tolist() == x[1, 3].tolist() == [7] * 5 and x[2, 3, 0] != 7
    with pytest.raises(IndexError, match=r"with shapes \[3\], \[2\]"):
        x[cebus.tensor([0, 1, 1]), i]


WRITERS = {
    "x[i] = v": lambda x, i, v: x.__setitem__(i, v),
    "index_put_": lambda x, i, v: x.index_put_((i,), v),
    "index_copy_": lambda x, i, v: x.index_copy_(0, i, v),
    "scatter_": lambda x, i, v: x.scatter_(0, i, v),
    "put_": lambda x, i, v: x.put_(i, v),
}


@pytest.mark.parametrize("name", WRITERS)
def test_of_repeated_positions_the_last_wins_and_all_have_its_gradient(name):
    x = cebus.ones(4, requires_grad=True)
    v = cebus.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x * 1
    WRITERS[name](y, cebus.tensor([2, 0, 2, 2]), v)
    assert y.tolist() == [2, 1, 4, 1]
    (y * cebus.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [0, 2, 0, 4] and v.grad.tolist() == [3, 1, 3, 3]
    z = cebus.ones(3)
    WRITERS[name](z, cebus.tensor([0, 1]), cebus.tensor([-0.0, 0.0]))
    assert (1 / z).tolist() == [-float("inf"), float("inf"), 1]


def test_what_is_read_and_written_at_repeated_positions():
    x = cebus.ones(3, requires_grad=True)
    y = x * 1
    y[cebus.tensor([0, 0, 1])] += 1
    y[cebus.tensor([1, 1])] *= 2
    assert y.tolist() == [2, 4, 1]
    y.sum().backward()
    assert x.grad.tolist() == [2, 4, 1]  # as many as read it: PyTorch's
    rows = cebus.zeros(3, 2).scatter(0, cebus.tensor([[0, 2], [0, 1]]),
                                     cebus.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert rows.tolist() == [[3, 0], [0, 4], [0, 2]]
    assert cebus.arange(4.0).reshape(2, 2).scatter(
        1, cebus.tensor([[0, 1], [1, 0]]), 3.0, reduce="multiply").tolist() == [[0, 3], [6, 9]]
    whole = cebus.zeros(3, dtype=cebus.uint8)
    whole[cebus.tensor([1, 1])] = cebus.tensor([200, 100], dtype=cebus.uint8)
    assert whole.tolist() == [0, 100, 0]


def test_numbers_are_written_with_all_their_digits():
    for key in (0, cebus.tensor([0]), cebus.tensor([True])):
        x, n = cebus.zeros(1, dtype=cebus.float64), cebus.zeros(1, dtype=cebus.int64)
        x[key], n[key] = 0.1, (1 << 60) + 1
        assert x.tolist() == [0.1] and n.tolist() == [(1 << 60) + 1]
    assert n.fill_((1 << 60) + 3).tolist() == [(1 << 60) + 3]


def test_bad_indices_are_index_errors():
    x = cebus.tensor(ARRAY)
    for key in (3, -4, (0, 4), (0, 0, 0, 0), [5], ([0, 9], [0, 0]), (Ellipsis, Ellipsis), "a", 1.5,
                cebus.ones(2), cebus.ones(2, 2, dtype=cebus.bool)):
        with pytest.raises(IndexError):
            x[key]
    with pytest.raises(ValueError):
        x[::-1]
    with pytest.raises(IndexError):
        cebus.tensor(1.0)[0]
    with pytest.raises(RuntimeError):
        x[0] = cebus.ones(7)


def test_shapes():
    x = cebus.tensor(ARRAY)
    assert x.reshape(-1, 10).shape == (6, 10) and x.flatten(1).shape == (3, 20)
    assert x.permute(2, 0, 1).shape == (5, 3, 4) and x.T.shape == (5, 4, 3)
    assert x.unsqueeze(-1).squeeze().shape == (3, 4, 5)
    assert x[:1].squeeze(0).shape == (4, 5) and x.expand(2, -1, -1, -1).shape == (2, 3, 4, 5)
    assert [each.shape[1] for each in x.split(3, 1)] == [3, 1]
    assert [each.shape[2] for each in x.chunk(2, -1)] == [3, 2]
    assert [each.shape[1] for each in x.split([1, 3], dim=1)] == [1, 3]
    assert len(x.unbind(1)) == 4 and len(list(x)) == len(x) == 3
    assert numpy.array_equal(x.flip(0, 2).numpy(), ARRAY[::-1, :, ::-1])
    assert numpy.array_equal(x.repeat(2, 1, 3).numpy(), numpy.tile(ARRAY, (2, 1, 3)))
    assert numpy.array_equal(x.movedim(0, -1).numpy(), numpy.moveaxis(ARRAY, 0, -1))
    assert numpy.array_equal(x.roll(1, 0).numpy(), numpy.roll(ARRAY, 1, 0))
    assert numpy.array_equal(x[0].tril().numpy(), numpy.tril(ARRAY[0]))
    assert numpy.array_equal(x[0].triu(1).numpy(), numpy.triu(ARRAY[0], 1))
    assert numpy.array_equal(x[0].diagonal(1).numpy(), numpy.diagonal(ARRAY[0], 1))
    with pytest.raises(RuntimeError, match="reshape"):
        x.permute(2, 0, 1).view(-1)
    assert x.transpose(0, 1)[:, :1].view(4, 5).shape == (4, 5)
    with pytest.raises(IndexError):
        x.size(3)
    with pytest.raises(IndexError):
        x.transpose(0, 3)


@pytest.mark.parametrize("repeats", [0, 1, 3, [2, 0, 3], [0, 0, 0], [0, 1, 0], [1, 2, 0]])
def test_repeat_interleave_is_numpys(repeats):
    x = cebus.tensor(numpy.arange(24, dtype="f4").reshape(2, 3, 4)).transpose(0, 2)
    times = repeats if isinstance(repeats, int) else cebus.tensor(repeats)
    assert numpy.array_equal(x.repeat_interleave(times, 1).numpy(),
                             numpy.repeat(x.numpy(), repeats, 1))
    assert cebus.zeros(3, 0).repeat_interleave(times, 0).shape[1] == 0


def test_repeating_beyond_memory_is_out_of_memory_at_once():
    x = cebus.ones(3)
    with cebus.budget("8MiB"):
        for repeat in (lambda: x.repeat(2**31 - 1), lambda: x.tile(2**31 - 1),
                       lambda: x.repeat_interleave(1 << 40),
                       lambda: x.repeat_interleave(cebus.tensor([1, 1 << 40, 1]))):
            with pytest.raises(cebus.OutOfMemoryError):
                repeat()
    assert cebus.zeros(0, 6).unflatten(1, (2, -1)).shape == (0, 2, 3)
    assert x.diff((1 << 31) - 1).shape == (0,)
    with pytest.raises(ValueError, match="non-negative"):
        x.diff(-1)


def test_joining():
    x, y = cebus.ones(2, 3), cebus.zeros(1, 3)
    assert cebus.cat([x, y]).shape == (3, 3) and cebus.stack([x, x], 1).shape == (2, 2, 3)
    assert cebus.cat([x, cebus.tensor([[1, 2, 3]])]).dtype is cebus.float32
    assert cebus.vstack([x, y]).shape == (3, 3) and cebus.hstack([x, x]).shape == (2, 6)
    with pytest.raises(RuntimeError):
        cebus.cat([x, cebus.ones(2, 2)], 0)
    with pytest.raises(RuntimeError):
        cebus.cat([])
    with pytest.raises(TypeError):
        cebus.cat([x, 1])


def test_sorting_and_positions():
    values = numpy.array([[3, 1, 2, 1], [0, 5, -1, 5]], dtype="float32")
    x = cebus.tensor(values)
    assert x.sort().values.tolist() == numpy.sort(values).tolist()
    assert x.argsort(descending=True).tolist() == [[0, 2, 1, 3], [1, 3, 0, 2]]
    top, where = x.topk(2)
    assert top.tolist() == [[3, 2], [5, 5]] and where.tolist() == [[0, 2], [1, 3]]
    assert x.max(1).values.tolist() == [3, 5] and x.max(1).indices.tolist() == [0, 1]
    assert x.median(1)[0].tolist() == [1, 0] and x.unique().tolist() == [-1, 0, 1, 2, 3, 5]
    assert x.nonzero().tolist() == numpy.argwhere(values).tolist()
    assert x.cumsum(1).tolist() == numpy.cumsum(values, 1).tolist()
    assert x.prod(1).tolist() == numpy.prod(values, 1).tolist()
    assert cebus.bincount(cebus.tensor([0, 2, 2])).tolist() == [1, 0, 2]
    index = cebus.tensor([[0, 1], [3, 2]])
    assert x.scatter(1, index, cebus.tensor([[9.0, 8.0], [7.0, 6.0]])).tolist() == \
        [[9, 8, 2, 1], [0, 5, 6, 7]]
    assert cebus.zeros(2, 3).scatter_(1, cebus.tensor([[2], [0]]), 1).tolist() == \
        [[0, 0, 1], [1, 0, 0]]


def test_einsum_against_numpy():
    random = numpy.random.RandomState(0)
    a, b, c = random.rand(3, 4), random.rand(4, 5), random.rand(2, 3, 4)
    for equation, operands in [("ij,jk->ik", (a, b)), ("ij->ji", (a,)), ("ij->", (a,)),
                               ("bij,jk->bik", (c, b)), ("...ij,jk->...ik", (c, b)),
                               ("ij,jk", (a, b)), ("bij,bkj->bik", (c, c)), ("ii->i", (a[:, :3],)),
                               ("ij,ij->i", (a, a)), ("i,j->ij", (a[0], b[0])),
                               ("ij,jk,kl->il", (a, b, b.T))]:
        found = cebus.einsum(equation, *[cebus.tensor(each) for each in operands])
        assert numpy.allclose(found.numpy(), numpy.einsum(equation, *operands)), equation


def some_view(rng, array, x):
    """The same random view of an array and of a tensor."""
    for _ in range(rng.randint(0, 3)):
        kind = rng.randint(0, 4)
        if kind == 0:
            order = rng.permutation(array.ndim)
            array, x = array.transpose(order), x.permute(tuple(int(d) for d in order))
        elif kind == 1:
            array, x = array[::2], x[::2]
        elif kind == 2 and array.shape[-1] > 1:
            array, x = array[..., 1:], x[..., 1:]
        else:
            at = int(rng.randint(0, array.ndim + 1))
            array, x = numpy.expand_dims(array, at), x.unsqueeze(at)
            if rng.randint(2):
                array = numpy.broadcast_to(array, array.shape[:at] + (2,) + array.shape[at + 1:])
                x = x.expand(array.shape)
    return array, x


@pytest.mark.parametrize("seed", range(300))
def test_reshape_of_any_view(seed):
    """Dimensions of length 1, repeated and stepped ones among them."""
    rng = numpy.random.RandomState(seed)
    shape = tuple(int(n) for n in rng.choice((1, 1, 2, 3, 4), rng.randint(1, 5)))
    array = numpy.arange(numpy.prod(shape)).reshape(shape)
    array, x = some_view(rng, array, cebus.tensor(array))
    assert x.tolist() == array.tolist()
    factors = [n for n in array.shape for n in ((2, n // 2) if n == 4 else (n,))]
    rng.shuffle(factors)
    wanted = (-1,) if rng.randint(2) else (*factors, 1)
    assert x.reshape(wanted).tolist() == array.reshape(wanted).tolist()


def test_diagonals_are_views():
    array = ARRAY[0].copy()
    x = cebus.tensor(array)
    for offset in (0, 2, -1, 9):
        for turned in (False, True):
            one, other = (x.t(), array.T) if turned else (x, array)
            one[1:].diagonal(offset).mul_(3)
            rows = other[1:]
            for i in range(rows.shape[0]):
                if 0 <= i + offset < rows.shape[1]:
                    rows[i, i + offset] *= 3
            assert numpy.array_equal(x.numpy(), array)
    weight = cebus.ones(3, 4, requires_grad=True)
    y = weight * 2
    y.diagonal(1).copy_(cebus.arange(3).float() * weight[:, 0])
    y.square().sum().backward()
    wanted = numpy.full((3, 4), 8.0)
    wanted[range(3), range(1, 4)] = 0
    wanted[:, 0] += [0, 2, 8]
    assert numpy.array_equal(weight.grad.numpy(), wanted)
    kept = cebus.diag(x)
    kept.zero_()
    assert numpy.array_equal(x.numpy(), array)


def test_windows_are_views():
    x = cebus.arange(12.)
    for size, step in ((3, 3), (2, 4), (1, 1)):
        x.unfold(0, size, step).add_(1)
    assert x.tolist() == [3, 4, 4, 5, 7, 8, 8, 9, 11, 12, 12, 13]
    x.as_strided((2, 2), (6, 2), 1).zero_()
    assert x.tolist() == [3, 0, 4, 0, 7, 8, 8, 0, 11, 0, 12, 13]
    assert x[4:].as_strided((2,), (3,), 0).tolist() == [3, 0]
    for shared in (x.unfold(0, 3, 2), x.as_strided((3, 2), (1, 1)), x.unfold(0, 2, 1)[::1, :]):
        with pytest.raises(cebus.InvalidArgumentError, match="share one location"):
            shared.zero_()
    for shape, stride, offset in (((13,), (1,), 0), ((2,), (-1,), 4), ((2,), (1,), -1),
                                  ((2, 2), (8, 4), 0), ((2,), (1 << 62,), 0)):
        with pytest.raises(cebus.InvalidArgumentError, match="as_strided"):
            x.as_strided(shape, stride, offset)
    assert x.max() == 13


def test_gradients_of_shared_elements_are_summed():
    x = cebus.arange(6.).requires_grad_()
    (x.unfold(0, 3, 1) * cebus.arange(12.).reshape(4, 3)).sum().backward()
    assert x.grad.tolist() == [0, 4, 12, 21, 18, 11]
    x.grad = None
    y = x * 1
    windows, strided = y.unfold(0, 2, 2), y.as_strided((3, 2), (1, 1), 1)
    windows.mul_(2)  # what others show is written, too
    assert strided.tolist() == [[2, 4], [4, 6], [6, 8]]
    (windows.sum() + strided.square().sum()).backward()
    assert x.grad.tolist() == [2, 10, 34, 50, 34, 2]


def test_what_changes_no_shape_is_a_view_all_the_same():
    x = cebus.ones(2, 3, requires_grad=True)
    for y in (x.squeeze(), x.squeeze(0), x.squeeze((0, 1)), x[:], x[...]):
        assert y is not x and not y.is_leaf
        y.unsqueeze_(0)
        assert x.shape == (2, 3) and y.shape == (1, 2, 3)
    (x.squeeze() * 3).sum().backward()
    assert numpy.array_equal(x.grad.numpy(), numpy.full((2, 3), 3.0)) and x[:].grad is None


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x.swapaxes(0, 1), lambda x: x[:, ::2],
                                  lambda x: x[..., 1], lambda x: x.swapaxes(0, 2)[1:],
                                  lambda x: x[:1].swapaxes(0, 1)])
def test_masks_of_several_dimensions_write_to_views(view):
    array = numpy.arange(60, dtype="f4").reshape(3, 4, 5)
    whole = cebus.tensor(array)
    x, like = view(whole), view(array)
    index = numpy.arange(like.shape[0] * like.shape[1]).reshape(like.shape[:2]) % 3 != 1
    mask = cebus.tensor(index)
    x[mask] *= 3
    like[index] *= 3
    assert numpy.array_equal(whole.numpy(), array)
    x[mask] = cebus.arange(x[mask].numel()).float().reshape(x[mask].shape)
    like[index] = numpy.arange(like[index].size).reshape(like[index].shape)
    assert numpy.array_equal(whole.numpy(), array)
    x[None, mask, ...] = -x[None, mask, ...]
    like[None, index, ...] = -like[None, index, ...]
    assert numpy.array_equal(whole.numpy(), array)
    x.index_put_((mask,), x[mask], accumulate=True)
    like[index] *= 2
    assert numpy.array_equal(whole.numpy(), array)


def test_a_mask_written_through_a_view_has_gradients():
    leaf = cebus.ones(2, 3, requires_grad=True)
    x = (leaf * 1).t()
    values = cebus.full((2,), 5.0, requires_grad=True)
    x[cebus.tensor([[True, False], [False, True], [False, False]])] = values
    (x * x).sum().backward()
    assert leaf.grad.tolist() == [[0, 2, 2], [2, 0, 2]] and values.grad.tolist() == [10, 10]


def test_one_copy_is_a_copy():
    x = cebus.ones(2, 3)
    for y in (x[:1, :1].repeat(1, 5), x[:1, :1].repeat_interleave(5, 0)):
        assert 0 not in y.stride()
    for y in (x.repeat(1, 1), x.repeat(1, 1, 1), x.tile(1), x.repeat_interleave(1, 0)):
        y.zero_()
        assert x.sum() == 6


def test_view_of_a_dimension_of_length_1_with_a_stride_of_its_own():
    x = cebus.arange(28).reshape(7, 4)
    for piece in (x[:, :1], x.expand(1, 7, 4)[:, ::2, :], x[::2].unsqueeze(1)):
        y = piece.view(piece.squeeze().shape)
        assert numpy.array_equal(y.numpy(), piece.numpy().squeeze())


def test_values_may_have_lengths_of_one_in_front():
    x = cebus.zeros(2, 3)
    x[cebus.tensor([1])] = cebus.ones(1, 1, 3)
    x[cebus.tensor([0, 1]), 0] = cebus.tensor([[5.0, 6.0]])
    assert x.tolist() == [[5, 0, 0], [6, 1, 1]]
    x[x == 1] = cebus.tensor([[[7.0, 8.0]]])
    assert x.tolist() == [[5, 0, 0], [6, 7, 8]]
    with pytest.raises(RuntimeError):
        x[cebus.tensor([0, 1]), 0] = cebus.ones(2, 2)


def test_what_is_turned_or_flipped_is_another_tensor():
    x = cebus.ones(3)
    assert x.t() is not x and x.t().unsqueeze_(0).shape == (1, 3) and x.shape == (3,)
    assert x.t().data_ptr() == x.data_ptr()
    x.flip(()).zero_()
    assert cebus.tensor(2.0).flip(0).item() == 2
    assert x.tolist() == [1, 1, 1]


def test_a_leaf_that_leaves_the_graph_keeps_its_gradient():
    x = cebus.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    assert x.detach_() is x and not x.requires_grad and x.grad.tolist() == [3, 3]
    y = (x.requires_grad_() * 2).sum()
    x.requires_grad_(False)  # frozen: what comes later is not for it
    y.backward()
    assert x.grad.tolist() == [3, 3]
    y = x.requires_grad_() * 2
    assert y.detach_().is_leaf and not y.requires_grad
