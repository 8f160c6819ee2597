"""Gradients, grad modes and leaves."""
import threading

import pytest

import cebus


def test_backward_accumulates_into_leaves():
    x = cebus.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5, 7] and x.is_leaf and x.grad_fn is None
    y = x * 2
    assert not y.is_leaf and y.grad is None and y.grad_fn is not None
    x.grad = None
    assert x.grad is None
    y.backward(cebus.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2, 20]
    with pytest.raises(RuntimeError):
        (x * 2).backward()


def test_a_graph_is_used_once_unless_it_is_retained():
    x = cebus.ones(2, requires_grad=True)
    y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError):
        y.backward()
    with pytest.raises(RuntimeError):
        cebus.ones(1).backward()
    with pytest.raises(NotImplementedError):
        (x * x).sum().backward(create_graph=True)


def test_what_saved_nothing_is_walked_again():
    x = cebus.ones(2, 3, requires_grad=True)
    y = (x + 1).transpose(0, 1).reshape(-1)
    (y * y).sum().backward()
    y.sum().backward()
    y[2:].mean().backward()
    assert x.grad.tolist() == [[5, 5.25, 5.25], [5, 5.25, 5.25]]
    z = x.exp()
    z.sum().backward()
    with pytest.raises(RuntimeError, match="what exp saved is gone; pass retain_graph"):
        z.sum().backward()


def test_a_gradient_that_the_program_keeps_is_added_to():
    x = cebus.ones(4, requires_grad=True)
    x.sum().backward()
    kept = x.grad
    total = kept.sum()
    x.sum().backward()
    assert kept.tolist() == [2] * 4 and total.item() == 4 and kept.data_ptr() == x.grad.data_ptr()
    flat = cebus.zeros(6)
    x.grad = flat[1:5]
    x.sum().backward()
    x.sum().backward()
    assert flat.tolist() == [0, 2, 2, 2, 2, 0] and kept.tolist() == [2] * 4


def test_requires_grad_of_what_was_computed():
    x = cebus.ones(2, requires_grad=True)
    y = x * 2
    assert y.requires_grad_() is y and not y.is_leaf
    y.requires_grad = True
    with pytest.raises(RuntimeError, match="leaf variables"):
        y.requires_grad_(False)
    with pytest.raises(RuntimeError, match="floating point"):
        cebus.ones(2, dtype=cebus.int64).requires_grad_()
    assert not cebus.ones(2, dtype=cebus.int64).requires_grad_(False).requires_grad
    assert not x.requires_grad_(False).requires_grad


def test_no_grad_as_block_and_decorator():
    x = cebus.ones(2, requires_grad=True)
    with cebus.no_grad():
        assert not (x * 2).requires_grad and not cebus.is_grad_enabled()
        with cebus.enable_grad():
            assert (x * 2).requires_grad
    assert cebus.is_grad_enabled()

    @cebus.no_grad()
    def double(y):
        return y * 2

    @cebus.no_grad
    def triple(y):
        return y * 3
    assert not double(x).requires_grad and not triple(x).requires_grad and (x * 2).requires_grad
    with pytest.raises(ZeroDivisionError):
        with cebus.no_grad():
            1 / 0
    assert cebus.is_grad_enabled()
    with cebus.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    with cebus.inference_mode():
        assert not (x * 2).requires_grad


@pytest.mark.parametrize("mode", [lambda: cebus.no_grad(), lambda: cebus.no_grad,
                                  lambda: cebus.inference_mode(),
                                  lambda: cebus.set_grad_enabled(False)])
def test_grad_mode_of_generators_ends_with_each_step(mode):
    closed = []

    @mode()
    def steps(first):
        try:
            assert (yield first, cebus.is_grad_enabled()) == "sent"
            yield cebus.is_grad_enabled()
        except ValueError:
            yield "caught", cebus.is_grad_enabled()
        finally:
            closed.append(cebus.is_grad_enabled())
        return "end"
    running = steps(1)
    assert next(running) == (1, False) and cebus.is_grad_enabled()
    assert running.send("sent") is False and cebus.is_grad_enabled()
    assert running.throw(ValueError()) == ("caught", False) and cebus.is_grad_enabled()
    with pytest.raises(StopIteration) as end:
        next(running)
    assert end.value.value == "end" and cebus.is_grad_enabled()
    running = steps(2)
    next(running)
    running.close()
    assert closed == [False, False] and cebus.is_grad_enabled()


def test_decorators_have_the_mode_they_were_given():
    @cebus.inference_mode(False)
    def recorded(x):
        return x * 2
    assert recorded(cebus.ones(1, requires_grad=True)).requires_grad


def test_grad_mode_belongs_to_the_thread():
    seen = []
    with cebus.no_grad():
        thread = threading.Thread(target=lambda: seen.append(cebus.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_detach_and_data():
    x = cebus.ones(2, requires_grad=True)
    assert not x.detach().requires_grad and not (x.data * 2).requires_grad
    x.data = cebus.zeros(2)
    assert x.tolist() == [0, 0] and x.requires_grad
    with pytest.raises(RuntimeError):
        cebus.tensor([1, 2]).requires_grad_()
    with pytest.raises(RuntimeError):
        x.add_(1)
    with cebus.no_grad():
        x.add_(1)
    assert x.tolist() == [1, 1]


def test_autograd_grad_leaves_no_trace():
    x = cebus.tensor([3.0], requires_grad=True)
    w = cebus.tensor([2.0], requires_grad=True)
    (g,) = cebus.autograd.grad((x * x * w).sum(), x)
    assert g.tolist() == [12] and x.grad is None
    with pytest.raises(RuntimeError):
        cebus.autograd.grad((x * 2).sum(), [x, w])
    assert cebus.autograd.grad((x * 2).sum(), [x, w], allow_unused=True)[1] is None


def test_values_overwritten_after_they_were_saved_are_found():
    x = cebus.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    y.add_(1)
    z.backward()
    assert x.grad.tolist() == [8, 16]


def test_gradients_through_composed_functions():
    x = cebus.tensor([0.5, 1.5, 2.5], requires_grad=True)
    (x.cumsum(0) * cebus.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [6, 5, 3]
    x.grad = None
    x.sort(descending=True).values[0].backward()
    assert x.grad.tolist() == [0, 0, 1]
    x.grad = None
    x.prod().backward()
    assert x.grad.tolist() == pytest.approx([3.75, 1.25, 0.75])


def test_the_gradient_stays_where_data_are_replaced():
    w = cebus.ones(3, requires_grad=True)
    for step in range(3):
        (w * w).sum().backward()
        w.data -= 0.25 * w.grad.data
        assert w.requires_grad and w.is_leaf and w.grad.tolist() == [2 * 0.5**step] * 3
        w.grad.data.zero_()
        assert w.grad.tolist() == [0, 0, 0]
    assert w.tolist() == [0.125] * 3
    w.data = cebus.ones(2)
    assert w.grad is None and w.tolist() == [1, 1]
    other = cebus.zeros(2)
    w.data = other
    other.add_(4)
    assert w.tolist() == [4, 4]


def test_other_data_of_a_leaf_and_the_graph_before():
    w = cebus.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    w.data = w.data * 10
    loss.backward()
    assert w.grad.tolist() == [2, 4] and w.tolist() == [10, 20] and w.is_leaf
    (w * w).sum().backward()
    assert w.grad.tolist() == [22, 44]
    w.data = cebus.ones(3)
    assert w.grad is None and w.requires_grad and w.shape == (3,)
    shown = memoryview(w.detach())
    w.data = cebus.zeros(3)
    assert shown.tolist() == [1, 1, 1]


def test_shapes_changed_in_place():
    w = cebus.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        w.t_()
    with cebus.no_grad():
        w.t_()
        y = w.sum(0)
    assert w.requires_grad and w.is_leaf and w.shape == (3, 2) and not y.requires_grad
    y = w * 2
    with cebus.no_grad():
        y.unsqueeze_(0)
    y.sum().backward()
    assert w.grad.tolist() == [[2, 2]] * 3 and y.shape == (1, 3, 2)


def test_gradients_by_an_inner_tensor_leave_what_made_it():
    x = cebus.ones(3, requires_grad=True)
    y = x.exp()
    cebus.autograd.grad((y * y).sum(), y)
    y.sum().backward()
    assert x.grad is not None
    found, = cebus.autograd.grad((y * 3).sum(), y)
    assert found.tolist() == [3, 3, 3]


def test_a_gradient_is_one_object_while_it_is_kept():
    x = cebus.ones(3, requires_grad=True)
    x.sum().backward()
    kept = x.grad
    assert x.grad is kept
    x.sum().backward()
    assert x.grad is kept and kept.tolist() == [2, 2, 2]
    x.grad = None
    x.sum().backward()
    assert x.grad is not kept


def test_gradients_that_were_asked_for_can_be_written_to():
    x = cebus.ones(2, 3, requires_grad=True)
    found, = cebus.autograd.grad(x.mean(), x)
    found.mul_(6)
    assert found.tolist() == [[1] * 3] * 2


def test_a_switch_of_recording_decorates_functions():
    @cebus.set_grad_enabled(False)
    def plain(x):
        return x * 2
    x = cebus.ones(2, requires_grad=True)
    assert cebus.is_grad_enabled() and not plain(x).requires_grad and cebus.is_grad_enabled()
