"""Optimizers and schedules against PyTorch, step by step; LBFGS, averages of models."""
import copy
import pickle

import numpy
import pytest

import cebus

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
torch.set_num_threads(1)

STEPS = 20
OPTIMIZERS = {
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1}, {"maximize": True}],
    "Adamax": [{}, {"betas": (0.8, 0.9), "weight_decay": 0.1}, {"maximize": True}],
    "NAdam": [{}, {"lr": 0.05, "weight_decay": 0.1, "momentum_decay": 0.01}],
    "RAdam": [{"lr": 0.05}, {"betas": (0.8, 0.95), "weight_decay": 0.1}],
    "ASGD": [{}, {"lr": 0.05, "lambd": 0.01, "t0": 4, "weight_decay": 0.1}, {"maximize": True}],
    "Rprop": [{}, {"etas": (0.4, 1.3), "step_sizes": (1e-3, 0.1)}],
    "SGD": [{"lr": 0.1, "maximize": True}, {"lr": 0.1, "momentum": 0.9, "nesterov": True},
            {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1}],
    "Adam": [{"amsgrad": True}, {"amsgrad": True, "weight_decay": 0.1, "lr": 0.05},
             {"maximize": True}],
    "AdamW": [{"amsgrad": True, "lr": 0.05}, {"maximize": True, "weight_decay": 0.2}],
    "RMSprop": [{"centered": True}, {"centered": True, "momentum": 0.9, "weight_decay": 0.1},
                {"maximize": True}],
    "Adagrad": [{"initial_accumulator_value": 0.5, "lr_decay": 0.1}, {"maximize": True}],
}
CASES = [(name, options) for name, several in OPTIMIZERS.items() for options in several]


def problem(lib, start):
    p = lib.nn.Parameter(lib.tensor(start))

    def loss():
        return (p * p * lib.tensor([1.0, 3.0, 0.3])).sum() + (p.sin() * 2).sum()
    return p, loss


def near(a, b, tolerance=1e-5):
    a, b = a.detach().numpy(), b.detach().numpy()
    numpy.testing.assert_allclose(a, b, rtol=tolerance,
                                  atol=tolerance * max(float(abs(b).max()), 1e-3))


@pytest.mark.parametrize("name,options", CASES, ids=str)
def test_each_step_is_pytorchs(name, options):
    if name == "NAdam" and torch.__version__.startswith("1."):
        pytest.skip("PyTorch 1 takes the momentum of the step at hand twice")
    start = numpy.random.RandomState(0).standard_normal((4, 3)).astype("float32")
    both = []
    for lib in (cebus, torch):
        p, loss = problem(lib, start)
        both.append((p, loss, getattr(lib.optim, name)([p], **options)))
    for step in range(STEPS):
        for p, loss, optimizer in both:
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()
        near(both[0][0], both[1][0])


@pytest.mark.parametrize("name", [*OPTIMIZERS])
def test_training_goes_on_from_a_saved_state(name):
    start = numpy.random.RandomState(1).standard_normal((4, 3)).astype("float32")
    found = []
    for interrupted in (False, True):
        p, loss = problem(cebus, start)
        optimizer = getattr(cebus.optim, name)([p], **OPTIMIZERS[name][-1])
        for step in range(8):
            if interrupted and step == 4:
                state = pickle.loads(pickle.dumps(optimizer.state_dict()))
                optimizer = getattr(cebus.optim, name)([p], **OPTIMIZERS[name][-1])
                optimizer.load_state_dict(state)
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()
        found.append(p.detach())
    assert found[0].equal(found[1])


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("lr", [1.0, 0.3])
def test_lbfgs(search, lr):
    start = numpy.array([-1.2, 1.0, 0.5, 2.0], dtype="float64")
    values = []
    for lib in (cebus, torch):
        p = lib.nn.Parameter(lib.tensor(start))
        optimizer = lib.optim.LBFGS([p], lr=lr * (1 if search else 0.01), max_iter=6,
                                    history_size=4, line_search_fn=search)
        calls = []

        def closure():
            optimizer.zero_grad()
            loss = (100 * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2).sum()
            loss.backward()
            calls.append(loss.item())
            return loss
        for _ in range(4):
            optimizer.step(closure)
        values.append((calls, p.detach().numpy().copy()))
    assert values[0][0] == pytest.approx(values[1][0], rel=1e-6)
    numpy.testing.assert_allclose(values[0][1], values[1][1], rtol=1e-6)


def test_lbfgs_finds_the_valley_and_stops():
    p = cebus.nn.Parameter(cebus.tensor([-1.2, 1.0], dtype=cebus.float64))
    optimizer = cebus.optim.LBFGS([p], max_iter=60, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = 100 * (p[1] - p[0] ** 2) ** 2 + (1 - p[0]) ** 2
        loss.backward()
        return loss
    optimizer.step(closure)
    assert p.tolist() == pytest.approx([1.0, 1.0], abs=1e-4)
    used = optimizer.state[p]["func_evals"]
    optimizer.step(closure)
    assert optimizer.state[p]["func_evals"] - used <= 3
    with pytest.raises(ValueError, match="groups"):
        cebus.optim.LBFGS([{"params": [p]}, {"params": [cebus.nn.Parameter(cebus.zeros(1))]}])
    with pytest.raises(RuntimeError, match="strong_wolfe"):
        cebus.optim.LBFGS([p], line_search_fn="other")


# --- schedules --------------------------------------------------------------------------------

SCHEDULES = {
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda t: 0.9 + 0.01 * t),
    "triangular": lambda s, o: s.CyclicLR(o, 0.01, 0.4, step_size_up=3, step_size_down=5),
    "triangular2": lambda s, o: s.CyclicLR(o, 0.01, 0.4, 4, mode="triangular2"),
    "exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.4, 4, mode="exp_range", gamma=0.97),
    "own scale": lambda s, o: s.CyclicLR(o, 0.01, 0.4, 4, scale_fn=lambda x: 1 / x ** 2),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=24),
    "one cycle, linear": lambda s, o: s.OneCycleLR(o, 0.5, epochs=6, steps_per_epoch=4,
                                                   anneal_strategy="linear", three_phase=True),
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9),
                                                s.StepLR(o, 4, 0.5)]),
    "two at once": lambda s, o: [s.LinearLR(o, 0.2, 1.0, 6), s.CosineAnnealingLR(o, 9, 0.01)],
    "cosine, over": lambda s, o: s.CosineAnnealingLR(o, 5, 0.01),
    "polynomial": lambda s, o: s.PolynomialLR(o, 8, 2.0),
    "sequential": lambda s, o: s.SequentialLR(o, [
        s.LinearLR(o, 0.1, total_iters=3), s.CosineAnnealingLR(o, 6), s.ExponentialLR(o, 0.5)],
        [3, 9]),
    "warm": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
}


def run(lib, name, count, save=None):
    """(rates and momenta, schedules) of so many steps; saved and loaded at `save`."""
    p = lib.nn.Parameter(lib.zeros(2))
    optimizer = lib.optim.SGD([{"params": [p]}, {"params": [lib.nn.Parameter(lib.zeros(1))],
                                                 "lr": 0.2}], lr=0.4, momentum=0.9)
    make = SCHEDULES[name]
    schedules = make(lib.optim.lr_scheduler, optimizer)
    found = []
    for step in range(count):
        if step == save:
            states = [each.state_dict() for each in listed(schedules)]
            groups = copy.deepcopy(optimizer.state_dict())
            schedules = make(lib.optim.lr_scheduler, optimizer)
            optimizer.load_state_dict(groups)
            for each, state in zip(listed(schedules), states):
                each.load_state_dict(state)
        found += [figure for group in optimizer.param_groups
                  for figure in (group["lr"], group["momentum"])]
        optimizer.step()
        for each in listed(schedules):
            each.step()
    assert listed(schedules)[-1].get_last_lr() == [g["lr"] for g in optimizer.param_groups]
    return found


def listed(schedules):
    return schedules if isinstance(schedules, list) else [schedules]


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name):
    theirs = run(torch, name, 22)
    assert run(cebus, name, 22) == pytest.approx(theirs, rel=1e-9, abs=1e-12)
    assert run(cebus, name, 22, save=7) == pytest.approx(theirs, rel=1e-9, abs=1e-12)


def test_a_schedule_of_ones_own():
    rates = []
    for lib in (cebus, torch):
        class Warm(lib.optim.lr_scheduler._LRScheduler):
            def get_lr(self):
                return [base * min(1.0, (self.last_epoch + 1) / 4) for base in self.base_lrs]
        optimizer = lib.optim.SGD([lib.nn.Parameter(lib.zeros(2))], lr=0.4)
        schedule, found = Warm(optimizer), []
        for _ in range(6):
            found.append(schedule.get_last_lr()[0])
            optimizer.step()
            schedule.step()
        rates.append(found)
    assert rates[0] == pytest.approx(rates[1])


def test_averages_of_models():
    results = []
    weights = numpy.random.RandomState(2).standard_normal((3, 4, 5)).astype("float32")
    x = numpy.random.RandomState(3).standard_normal((12, 5)).astype("float32")
    for lib in (cebus, torch):
        net = lib.nn.Sequential(lib.nn.Linear(5, 4, bias=False), lib.nn.BatchNorm1d(4))
        mean = lib.optim.swa_utils.AveragedModel(net)
        for each in weights:
            with lib.no_grad():
                net[0].weight.copy_(lib.tensor(each))
            mean.update_parameters(net)
        lib.optim.swa_utils.update_bn([lib.tensor(x[:6]), lib.tensor(x[6:])], mean)
        mean.eval()
        optimizer = lib.optim.SGD(net.parameters(), lr=0.4)
        schedule, rates = lib.optim.swa_utils.SWALR(optimizer, 0.05, 3), []
        for _ in range(5):
            optimizer.step()
            schedule.step()
            rates.append(optimizer.param_groups[0]["lr"])
        results.append((mean(lib.tensor(x)), int(mean.n_averaged), rates))
    near(results[0][0], results[1][0])
    assert results[0][1] == results[1][1] == 3 and results[0][2] == pytest.approx(results[1][2])
