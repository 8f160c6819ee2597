"""Hooks on gradients, gradients by any tensor, functions with gradients of their own."""
import gc
import threading
import weakref

import pytest

import cebus
from cebus.autograd import Function, gradcheck


def scalar(value, **keywords):
    return cebus.tensor([float(value)], requires_grad=True, **keywords)


# --- hooks --------------------------------------------------------------------------------------

def test_hooks_see_and_replace_gradients():
    x, seen = scalar(3), []
    y = x * 2
    handle = y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: seen.append(g.item()))
    (y * y).sum().backward()
    assert seen == [120.0] and x.grad.item() == 240
    handle.remove()
    handle.remove()
    x.grad = None
    with x.register_hook(lambda g: -g) as inside:
        (x * 3).sum().backward()
        assert x.grad.item() == -3 and inside is not None
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.item() == 3


def test_a_hook_of_a_released_tensor_stays_with_the_graph():
    x, seen = scalar(3), []

    def make():
        y = x * x
        y.register_hook(seen.append)
        return y.sum()
    make().backward()
    assert [g.tolist() for g in seen] == [[1.0]]
    handle = None

    def again():
        nonlocal handle
        y = x * x
        handle = y.register_hook(seen.append)
        return y.sum()
    loss = again()
    handle.remove()
    loss.backward()
    assert len(seen) == 1


def test_hooks_of_a_leaf_follow_its_data():
    x, seen = scalar(3), []
    x.register_hook(seen.append)
    x.data = cebus.tensor([5.0])
    (x * x).sum().backward()
    assert [g.tolist() for g in seen] == [[10.0]]


def test_what_a_hook_raises_comes_out_and_nothing_has_changed():
    x = scalar(3)
    y = x * x

    def refuse(grad):
        raise KeyError("no")
    handle = y.register_hook(refuse)
    loss = y.sum()
    with pytest.raises(KeyError):
        loss.backward()
    assert x.grad is None
    handle.remove()
    loss.backward()
    assert x.grad.item() == 6
    x.register_hook(lambda g: "nothing")
    with pytest.raises(TypeError):
        (x * x).sum().backward()
    with pytest.raises(RuntimeError):
        cebus.ones(1).register_hook(print)
    with pytest.raises(TypeError):
        x.register_hook(3)


def test_hooks_may_use_cebus_and_run_backwards():
    x, w = scalar(3), scalar(2)
    y = x * x

    def hook(grad):
        assert not cebus.is_grad_enabled()
        with cebus.enable_grad():
            (x * w).sum().backward()
        return grad.clone().mul_(2)
    y.register_hook(hook)
    (y + x).sum().backward()
    assert x.grad.item() == 2 + 12 + 1 and w.grad.item() == 3
    assert cebus.is_grad_enabled()


def test_hooks_do_not_hold_the_lock_against_other_threads():
    x, out = scalar(3), []

    def elsewhere():
        z = scalar(4)
        (z * z).sum().backward()
        out.append(z.grad.item())

    def hook(grad):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    y = x * x
    y.register_hook(hook)
    y.sum().backward()
    assert out == [8.0] and x.grad.item() == 6


def test_backwards_of_several_threads_with_hooks_meet_in_one_leaf():
    x, seen = cebus.ones(8, requires_grad=True), []
    x.register_hook(lambda g: seen.append(1))

    def work():
        for _ in range(20):
            y = x * 2
            y.register_hook(lambda g: g + 1)
            y.sum().backward()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(seen) == 80
    assert x.grad.tolist() == [320.0] * 8


def test_retain_grad():
    x = scalar(3)
    y = x * 2
    y.retain_grad()
    assert y.retains_grad and not x.retains_grad and y.grad is None
    (y * y).sum().backward(retain_graph=True)
    assert y.grad.item() == 12
    (y * y).sum().backward()
    assert y.grad.item() == 24
    y.grad = None
    assert y.grad is None
    x.retain_grad()
    with pytest.raises(RuntimeError):
        cebus.ones(1).retain_grad()
    z = x * 2
    z.retain_grad()
    z.register_hook(lambda g: g * 5)
    z.sum().backward()
    assert z.grad.item() == 5


def test_an_optimizer_step_within_the_backward():
    model = cebus.nn.Linear(3, 1)
    before = model.weight.tolist()
    optimizers = {p: cebus.optim.SGD([p], lr=0.1) for p in model.parameters()}

    def step(p):
        optimizers[p].step()
        optimizers[p].zero_grad()
    for p in model.parameters():
        p.register_post_accumulate_grad_hook(step)
    model(cebus.ones(2, 3)).sum().backward()
    assert model.weight.grad is None
    assert model.weight[0].tolist() == pytest.approx([w - 0.2 for w in before[0]])
    with pytest.raises(RuntimeError):
        (model.weight * 2).register_post_accumulate_grad_hook(step)


def test_hooks_are_let_go():
    class Watched:
        def __call__(self, grad):
            pass
    x = scalar(1)
    walked, never, removed = Watched(), Watched(), Watched()
    refs = [weakref.ref(each) for each in (walked, never, removed)]
    y = x * 2
    y.register_hook(walked)
    y.sum().backward()
    z = x * 2
    z.register_hook(never)
    x.register_hook(removed).remove()
    del walked, never, removed, z
    gc.collect()
    assert [ref() for ref in refs] == [None] * 3


# --- gradients by any tensor --------------------------------------------------------------------

def test_grad_by_inner_tensors_in_one_walk():
    x, w = scalar(3), scalar(5)
    y = x * x
    z = (y * w).sum()
    gy, gx = cebus.autograd.grad(z, [y, x], retain_graph=True)
    assert gy.item() == 5 and gx.item() == 30 and x.grad is None and w.grad is None
    assert cebus.autograd.grad(z, x)[0].item() == 30
    with pytest.raises(RuntimeError):
        cebus.autograd.grad(z, x)
    with pytest.raises(RuntimeError):
        cebus.autograd.grad((x * 2).sum(), cebus.ones(1))
    assert cebus.autograd.grad((x * 2).sum(), [w], materialize_grads=True)[0].item() == 0
    assert cebus.autograd.grad(x * 2, x, cebus.tensor([4.0]))[0].item() == 8


def test_backward_of_several_results_and_into_some_leaves():
    x, w = scalar(3), scalar(5)
    y = x * w
    calls = []
    y.register_hook(calls.append)
    cebus.autograd.backward([y.sum(), (y * y).sum()])
    assert len(calls) == 1 and x.grad.item() == 5 + 2 * 15 * 5
    x.grad = w.grad = None
    (x * w).sum().backward(inputs=[x])
    assert x.grad.item() == 5 and w.grad is None
    with pytest.raises(RuntimeError):
        cebus.autograd.backward([x * 1], [None, None])


# --- functions ----------------------------------------------------------------------------------

class Cube(Function):
    @staticmethod
    def forward(ctx, x, factor):
        y = x * x * x * factor
        ctx.factor = factor
        ctx.save_for_backward(x, None)
        assert not y.requires_grad
        return y

    @staticmethod
    def backward(ctx, grad):
        x, nothing = ctx.saved_tensors
        assert nothing is None and ctx.needs_input_grad == (True, False)
        return grad * 3 * x * x * ctx.factor, None


def test_a_function_with_its_own_gradient():
    x = cebus.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = Cube.apply(x * 1, 2.0)
    assert y.requires_grad and not y.is_leaf and y.grad_fn is not None
    y.sum().backward()
    assert x.grad.tolist() == [6, 24, 54]
    with cebus.no_grad():
        assert not Cube.apply(x, 2.0).requires_grad
    assert not Cube.apply(x.detach(), 2.0).requires_grad
    double = cebus.randn(4, dtype=cebus.float64, requires_grad=True)
    assert gradcheck(lambda v: Cube.apply(v, 0.5), (double,))


def test_what_is_saved_is_found_as_it_was_and_takes_no_room():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            assert y.tolist() == [v * v for v in x.tolist()]
            return 2 * x * grad
    x = cebus.tensor([1.0, 3.0], requires_grad=True)
    inner = x * 2
    y = Square.apply(inner)
    inner.zero_()
    y.add_(1)
    cebus.runtime().trim()
    y.sum().backward()
    assert x.grad.tolist() == [8, 24]


def test_several_outputs_and_missing_gradients():
    class Split(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(materialize)
            index = x.argmax()
            ctx.mark_non_differentiable(index)
            return x + y, x * 2, index

        @staticmethod
        def backward(ctx, a, b, c):
            seen.append((a, b))
            total = a if b is None else a + 2 * b
            return total, a
    for materialize in (True, False):
        seen = []
        x, y = cebus.ones(3, requires_grad=True), cebus.ones(3, requires_grad=True)
        p, q, index = Split.apply(x, y)
        assert p.requires_grad and q.requires_grad and not index.requires_grad
        p.sum().backward()
        assert (seen[0][1] is None) != materialize
        assert x.grad.tolist() == [1, 1, 1] and y.grad.tolist() == [1, 1, 1]


def test_functions_that_return_or_write_their_inputs():
    class Reverse(Function):
        @staticmethod
        def forward(ctx, x, strength):
            ctx.strength = strength
            return x.view_as(x) if strength > 1 else x

        @staticmethod
        def backward(ctx, grad):
            return grad.neg() * ctx.strength, None

    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2
    for strength in (1.0, 3.0):
        x = scalar(2)
        y = Reverse.apply(x, strength)
        assert y is not x
        (y * y).sum().backward()
        assert x.grad.item() == -4 * strength
    x = scalar(2)
    y = x * 3
    z = Double.apply(y)
    assert z is y and y.item() == 12
    (y * y).sum().backward()
    assert x.grad.item() == 2 * 12 * 6
    with pytest.raises(RuntimeError):
        Double.apply(scalar(2))


def test_setup_context():
    class Scale(Function):
        @staticmethod
        def forward(x, by):
            return x * by

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, by = inputs
            ctx.save_for_backward(x)
            ctx.by = by

        @staticmethod
        def backward(ctx, grad):
            assert ctx.saved_tensors[0].item() == 3
            return grad * ctx.by, None
    x = scalar(3)
    Scale.apply(x, 4).sum().backward()
    assert x.grad.item() == 4


def test_wrong_functions_say_what_is_wrong():
    class Few(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, grad):
            return grad

    class Shape(Few):
        @staticmethod
        def backward(ctx, grad):
            return grad.sum().expand(7), None

    class Raises(Few):
        @staticmethod
        def backward(ctx, grad):
            raise ZeroDivisionError("in backward")
    x = cebus.ones(3, requires_grad=True)
    for cls, error in ((Few, RuntimeError), (Shape, ValueError), (Raises, ZeroDivisionError)):
        with pytest.raises(error):
            cls.apply(x, cebus.ones(3)).sum().backward()
    assert x.grad is None
    with pytest.raises(RuntimeError):
        Few()
    with pytest.raises(NotImplementedError):
        Function.apply(x)
    with pytest.raises(RuntimeError):
        gradcheck(Wrong.apply, (cebus.ones(2, dtype=cebus.float64, requires_grad=True),))


class Wrong(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def test_expanded_gradients_and_other_types_are_fitted():
    class Loose(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad.double().expand(4, 3)
    x = cebus.ones(3, requires_grad=True)
    Loose.apply(x).sum().backward()
    assert x.grad.tolist() == [4, 4, 4] and x.grad.dtype == cebus.float32


def test_contexts_are_let_go_with_the_graph():
    refs = []

    class Kept(Function):
        @staticmethod
        def forward(ctx, x):
            refs.append(weakref.ref(ctx))
            y = x * 2
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2
    x = scalar(1)
    Kept.apply(x).sum().backward()
    del x
    y = Kept.apply(scalar(1))
    del y
    Kept.apply(cebus.ones(1))
    gc.collect()
    assert [ref() for ref in refs] == [None] * 3
    deep = scalar(1)
    for _ in range(20000):
        deep = Kept.apply(deep)
    del deep
    gc.collect()
    assert all(ref() is None for ref in refs)


def test_a_function_under_a_small_budget_gives_the_same_bits():
    def run(budget):
        with cebus.budget(budget):
            cebus.manual_seed(3)
            x = cebus.randn(64, 256, requires_grad=True)
            y = x
            for _ in range(6):
                y = Cube.apply(y.tanh(), 1.0)
            y.sum().backward()
            return x.grad.tolist()
    assert run("64MiB") == run("900KiB")


def test_jacobian_and_vjp():
    x = cebus.tensor([1.0, 2.0])
    square = cebus.autograd.functional.jacobian(lambda v: v * v, x)
    assert square.tolist() == [[2, 0], [0, 4]]
    pair = cebus.autograd.functional.jacobian(lambda a, b: a.sum() * b, (x, x))
    assert pair[0].tolist() == [[1, 1], [2, 2]] and pair[1].tolist() == [[3, 0], [0, 3]]
    out, product = cebus.autograd.functional.vjp(lambda v: v * v, x, cebus.ones(2))
    assert out.tolist() == [1, 4] and product.tolist() == [2, 4]


# --- modules ------------------------------------------------------------------------------------

def test_hooks_of_modules_see_gradients():
    net = cebus.nn.Sequential(cebus.nn.Linear(3, 4), cebus.nn.Tanh(), cebus.nn.Linear(4, 2))
    x, seen = cebus.ones(2, 3), []
    net(x).sum().backward()
    plain = net[0].weight.grad.tolist()
    net.zero_grad()
    handles = [
        each.register_full_backward_hook(lambda module, grad_in, grad_out: seen.append(
            (module, grad_in, grad_out))) for each in net]
    net(x).sum().backward()
    assert [module for module, _, _ in seen] == [net[2], net[1], net[0]]
    assert seen[0][2][0].tolist() == [[1, 1], [1, 1]] and seen[2][1] == (None,)
    assert seen[0][1][0].tolist() == seen[1][2][0].tolist()
    assert net[0].weight.grad.tolist() == plain
    for each in handles:
        each.remove()
    net.zero_grad()
    net[2].register_full_backward_hook(lambda module, grad_in, grad_out: (grad_in[0] * 2,))
    net[2].register_full_backward_pre_hook(lambda module, grad_out: (grad_out[0] * 2,))
    net(x).sum().backward()
    assert net[0].weight.grad.tolist() == [[4 * v for v in row] for row in plain]
    with cebus.no_grad():
        assert net(x).requires_grad is False
