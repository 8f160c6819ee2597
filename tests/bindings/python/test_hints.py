"""Wishes for what stays: scopes, tensors, checkpoints."""
import threading

import pytest

import cebus
from cebus.utils.checkpoint import CheckpointPolicy, checkpoint, checkpoint_sequential

HINTS = ["must_save", "prefer_save", "must_recompute", "prefer_recompute", "must_cpu_offload",
         "prefer_cpu_offload"]


@pytest.mark.parametrize("name", HINTS)
def test_scopes_and_tensors(name):
    with cebus.hint(name):
        x = cebus.randn(3)
        with cebus.hint(None):
            y = x * 2
        with cebus.hint(CheckpointPolicy[name.upper()]):
            z = x * 3
    assert (x.hint, y.hint, z.hint, (x * 2).hint) == (name, None, name, None)
    y.hint = name
    assert y.hint == name and y[1:].hint == name

    @cebus.hint(name)
    def function(v):
        return v + 1
    assert function(x).hint == name


def test_scopes_belong_to_the_thread_and_end_with_exceptions():
    seen = []
    with pytest.raises(ZeroDivisionError):
        with cebus.hint("must_save"):
            thread = threading.Thread(target=lambda: seen.append(cebus.zeros(1).hint))
            thread.start()
            thread.join()
            1 / 0
    assert seen == [None] and cebus.zeros(1).hint is None
    for wrong in ("always", 3, 2.5):
        with pytest.raises(ValueError):
            cebus.hint(wrong)
        with pytest.raises(ValueError):
            cebus.zeros(1).hint = wrong


def network():
    cebus.manual_seed(5)
    return cebus.nn.Sequential(*[
        cebus.nn.Sequential(cebus.nn.Linear(64, 64), cebus.nn.Tanh(), cebus.nn.Dropout(0.25))
        for _ in range(8)])


def train(run, steps=2):
    net = network()
    x, losses = cebus.randn(128, 64), []
    optimizer = cebus.optim.SGD(net.parameters(), lr=0.1)
    cebus.reset_peak_memory_stats()
    before = cebus.memory_allocated()
    for _ in range(steps):
        optimizer.zero_grad()
        loss = run(net, x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.tolist() for p in net.parameters()], \
        cebus.max_memory_allocated() - before


def test_checkpoints_give_the_same_bits_in_less_memory():
    def pieces(net, x):
        for block in net:
            x = checkpoint(block, x, use_reentrant=False)
        return x
    plain, weights, most = train(lambda net, x: net(x))
    cut, same, least = train(pieces)
    assert plain == cut and weights == same
    assert least < 0.7 * most
    assert train(lambda net, x: checkpoint_sequential(net, 4, x))[:2] == (plain, weights)


@pytest.mark.parametrize("name", HINTS)
def test_any_hint_gives_the_same_bits_under_a_budget(name):
    plain = train(lambda net, x: net(x))[:2]

    def hinted(net, x):
        for i, block in enumerate(net):
            with cebus.hint(name if i % 2 else None):
                x = block(x)
        return x
    for budget in ("64MiB", "900KiB"):
        with cebus.budget(budget):
            assert train(hinted)[:2] == plain


def test_checkpoints_without_gradients_and_of_nested_results():
    x = cebus.ones(3, requires_grad=True)
    with cebus.no_grad():
        assert checkpoint(lambda v: v * 2, x).tolist() == [2, 2, 2]
    found = checkpoint(lambda v, k: {"a": v * k, "b": [v + k, 7]}, x, k=3)
    assert found["a"].hint is None and found["b"][1] == 7
    (found["a"] * found["b"][0]).sum().backward()
    assert x.grad.tolist() == [15, 15, 15]
