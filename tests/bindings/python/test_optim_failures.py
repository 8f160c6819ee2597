"""Steps of optimizers and scalers that fail on their way, and are taken again."""
import pytest

import cebus
from cebus import nn, optim


def trained(make):
    """What is about to step, three times; then what came of it."""
    cebus.manual_seed(2)
    net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8))
    optimizer = make(net.parameters())
    for step in range(3):
        optimizer.zero_grad()
        net(cebus.ones(2, 8) * (step + 1)).square().sum().backward()
        yield net, optimizer
    yield [p.tolist() for p in net.parameters()], [
        state.get("step") for state in optimizer.state.values()]


def of(kind, **options):
    class Stumbles(kind):
        fails_at = -1

        def update(self, p, grad, state, group):
            if self.fails_at == 0:
                self.fails_at = -1
                raise KeyboardInterrupt
            self.fails_at -= 1
            super().update(p, grad, state, group)

    return lambda params: Stumbles(params, lr=0.05, **options)


@pytest.mark.parametrize("make", [of(optim.SGD, momentum=0.9), of(optim.Adam), of(optim.AdamW),
                                  of(optim.Adam, amsgrad=True), of(optim.RMSprop, momentum=0.9)])
def test_a_gradient_is_applied_once(make):
    runs = []
    for fails in (False, True):
        run = trained(make)
        for step in range(3):
            _, optimizer = next(run)
            if fails:
                optimizer.fails_at = step + 1
                with pytest.raises(KeyboardInterrupt):
                    optimizer.step()
            optimizer.step()
        runs.append(next(run))
    assert runs[0] == runs[1]


COMPOSED = [(optim.Adam, {"amsgrad": True, "weight_decay": 0.1}),
            (optim.AdamW, {"amsgrad": True}),
            (optim.RMSprop, {"momentum": 0.9, "centered": True, "weight_decay": 0.1}),
            (optim.Adagrad, {"lr_decay": 0.1}), (optim.Adadelta, {"weight_decay": 0.1}),
            (optim.Adamax, {}), (optim.NAdam, {"weight_decay": 0.1}), (optim.RAdam, {}),
            (optim.ASGD, {"weight_decay": 0.1}), (optim.Rprop, {})]


class Full:
    """A tensor that finds no room for what is first written to it."""

    def __init__(self, x):
        self.x, self.fails = x, True

    def copy_(self, value):
        if self.fails:
            self.fails = False
            raise cebus.OutOfMemoryError("full")
        self.x.copy_(value)


@pytest.mark.parametrize("kind,options", COMPOSED)
def test_an_update_that_failed_among_its_writes_goes_on(kind, options):
    class Stumbles(kind):
        fails_at = None  # the number of a write; -1: what comes before all of them

        def write(self, p, values, **numbers):
            at, self.fails_at = self.fails_at, None
            if at == -1:
                raise cebus.OutOfMemoryError("full")
            values = {Full(x) if i == at else x: y for i, (x, y) in enumerate(values.items())}
            super().write(p, values, **numbers)

    def results(fails):
        run = trained(lambda params: Stumbles(params, lr=0.05, **options))
        for step in range(3):
            _, optimizer = next(run)
            for at in (-1, 0, 1) if fails else ():
                optimizer.fails_at = at
                with pytest.raises(cebus.OutOfMemoryError):
                    optimizer.step()
            optimizer.step()
        return next(run), [{name: value.tolist() if hasattr(value, "tolist") else value
                            for name, value in state.items()}
                           for state in optimizer.state.values()]
    assert results(False) == results(True)


def test_what_is_left_of_an_update_is_saved():
    p = nn.Parameter(cebus.ones(2))
    p.grad = cebus.ones(2)
    optimizer = optim.Adagrad([p])
    optimizer.step()
    whole = optimizer.state_dict()["state"][0]["sum"].tolist()
    optimizer.write(p, {optimizer.state[p]["sum"]: cebus.ones(2) * 5}, step=7)
    saved = optimizer.state_dict()["state"][0]
    assert whole == [1.0, 1.0] and saved["sum"].tolist() == [5.0, 5.0] and saved["step"] == 7


@pytest.mark.parametrize("kind,name", [(optim.SGD, "sgd_step"), (optim.AdamW, "adam_step")])
def test_an_interrupt_as_the_update_ends_does_not_repeat_it(kind, name, monkeypatch):
    update, left = getattr(cebus._core, name), [1]

    def interrupted(*arguments):
        update(*arguments)
        if left and left.pop() == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(cebus._core, name, interrupted)
    results = []
    for fails in (False, True):
        p = nn.Parameter(cebus.ones(3))
        p.grad, optimizer = cebus.ones(3), kind([p], lr=0.5)
        left[:] = [0] if fails else []
        if fails:
            with pytest.raises(KeyboardInterrupt):
                optimizer.step()
        optimizer.step()
        results.append((p.tolist(), optimizer.state[p]["step"]))
    assert results[0] == results[1]


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_a_search_that_failed_has_changed_nothing(search):
    results = []
    for fails in (False, True):
        p = nn.Parameter(cebus.tensor([-1.2, 1.0, 0.5], dtype=cebus.float64))
        optimizer = optim.LBFGS([p], lr=0.01, max_iter=4, line_search_fn=search)
        calls, failing = [], []

        def closure():
            calls.append(p.tolist())
            if failing and len(calls) == failing[0]:
                failing.clear()
                raise cebus.OutOfMemoryError("full")
            optimizer.zero_grad()
            loss = (100 * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2).sum()
            loss.backward()
            return loss
        optimizer.step(closure)
        calls.clear()
        if fails:
            before = p.tolist()
            failing.append(3)
            with pytest.raises(cebus.OutOfMemoryError):
                optimizer.step(closure)
            assert p.tolist() == before
        optimizer.step(closure)
        results.append((p.tolist(), optimizer.state[p]["n_iter"]))
    assert results[0] == results[1]


def test_gradients_that_changed_since_are_applied():
    run = trained(of(optim.SGD))
    net, optimizer = next(run)
    optimizer.fails_at = 2
    with pytest.raises(KeyboardInterrupt):
        optimizer.step()
    before = [p.tolist() for p in net.parameters()]
    first, *others = net.parameters()
    first.grad.mul_(2)
    others[0].grad = others[0].grad.clone()
    optimizer.step()
    assert all(p.tolist() != was for p, was in zip(net.parameters(), before))


def test_state_is_made_before_the_first_write():
    cebus.trim()
    parameters = [nn.Parameter(cebus.ones(4096)) for _ in range(6)]
    for p in parameters:
        p.grad = cebus.ones(4096) * 2
    optimizer = optim.Adam(parameters, lr=0.5)
    with cebus.budget(cebus.memory_allocated() + 5 * 4096 * 4):
        with pytest.raises(cebus.OutOfMemoryError):
            optimizer.step()
        assert all(p.min().item() == 1 for p in parameters)
    optimizer.step()
    assert all(abs(p.max().item() - 0.5) < 1e-6 for p in parameters)


class Grad:
    """Of which the first division fails."""

    def __init__(self, x):
        self.x, self.fails = x, True

    def __mul__(self, number):
        return self.x * number

    def mul_(self, number):
        if self.fails:
            self.fails = False
            raise cebus.OutOfMemoryError("full")
        self.x.mul_(number)

    @property
    def _version(self):
        return self.x._version


class Holder:
    def __init__(self, grad):
        self.grad = grad


def test_a_scaler_divides_once_and_steps_again():
    scaler = cebus.amp.GradScaler(init_scale=4.0)
    x, y = nn.Parameter(cebus.ones(3)), nn.Parameter(cebus.ones(3))
    x.grad, y.grad = cebus.full((3,), 8.0), cebus.full((3,), 16.0)
    optimizer = of(optim.SGD)([x, y])
    held = [Holder(x.grad), Holder(Grad(y.grad))]
    groups, optimizer.param_groups = optimizer.param_groups, [{"params": held}]
    with pytest.raises(cebus.OutOfMemoryError):
        scaler.step(optimizer)
    scaler.unscale_(optimizer)
    assert x.grad.tolist() == [2.0] * 3 and y.grad.tolist() == [4.0] * 3
    optimizer.param_groups = groups
    optimizer.fails_at = 1
    with pytest.raises(KeyboardInterrupt):
        scaler.step(optimizer)
    scaler.step(optimizer)
    assert x.tolist() == cebus.full((3,), 0.9).tolist()
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)


def test_a_scaler_does_not_take_one_optimizer_for_another():
    scaler = cebus.amp.GradScaler(init_scale=4.0)
    x = nn.Parameter(cebus.ones(3))
    for _ in range(20):
        x.grad = cebus.full((3,), 4.0)
        scaler.step(optim.SGD([x], lr=1.0))
    assert x.tolist() == [-19.0] * 3
