"""cebus.capture().watch(): the last iteration that the runtime found."""
import numpy as np
import pytest

import cebus
from cebus import nn, optim


class Learner:
    """A loop that knows nothing of captures: batches are made in it, and losses read."""

    def __init__(self, kind, lets_go_first=True):
        cebus.manual_seed(3)
        self.model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Dropout(0.25), nn.Linear(16, 4))
        make = {"sgd": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
                "adam": lambda p: optim.AdamW(p, lr=0.01)}[kind]
        self.optimizer, self.lets_go_first = make(self.model.parameters()), lets_go_first
        self.loss = None

    def step(self, number):
        x, y = batch(number)
        if self.lets_go_first:
            self.optimizer.zero_grad()
        self.loss = nn.functional.cross_entropy(self.model(cebus.tensor(x)), cebus.tensor(y))
        self.loss.backward()
        self.optimizer.step()
        if not self.lets_go_first:
            self.optimizer.zero_grad()
        return self.loss.item()

    def left(self):
        counts = {state["step"] for state in self.optimizer.state.values()}
        return [p.detach().numpy().copy() for p in self.model.parameters()], counts


def batch(step):
    numbers = np.random.default_rng(step)
    return numbers.standard_normal((6, 8)).astype("float32"), numbers.integers(0, 4, 6)


@pytest.fixture
def unmarked():
    """Only marks count once there was one, as of other tests, until there is none for very long:
    calls by which an iteration is too long to be learned."""
    if cebus.memory_stats()["iterations"] > 0:
        x = cebus.zeros(1)
        with cebus.no_grad():
            for _ in range(2 ** 18 + 2):
                x + 1


@pytest.mark.parametrize("kind", ["sgd", "adam"])
@pytest.mark.parametrize("lets_go_first", [True, False])
@pytest.mark.usefixtures("unmarked")
def test_the_last_iteration_trains_as_the_loop_does(kind, lets_go_first):
    plain, watched = Learner(kind, lets_go_first), None
    losses = [plain.step(i) for i in range(8)]
    watched = Learner(kind, lets_go_first)
    graph = cebus.capture(optimizers=[watched.optimizer])
    graph.watch()
    assert [watched.step(i) for i in range(5)] == losses[:5]
    assert graph.last() is graph
    x, y = graph.inputs
    assert tuple(x.shape) == (6, 8) and y.dtype == cebus.int64
    for i in range(5, 8):
        for mine, given in zip((x, y), batch(i)):
            mine.copy_(cebus.tensor(given))
        graph.launch()
        assert watched.loss.item() == losses[i]
    wanted, counts = plain.left()
    left, counted = watched.left()
    assert counted == counts == {8}
    for a, b in zip(wanted, left):
        assert np.array_equal(a, b)


def test_what_is_not_there_is_refused():
    learner = Learner("sgd")
    graph = cebus.capture(optimizers=[learner.optimizer])
    with pytest.raises(cebus.CaptureError, match="nobody watches"):
        graph.last()
    graph.watch()
    with pytest.raises(cebus.CaptureError, match="from its beginning"):
        graph.last()
    x = cebus.ones(4)
    cebus.mark()
    y = x + 1
    y.sum().item()
    y = y * 2
    cebus.mark()
    with pytest.raises(cebus.CaptureError, match="item after 2 of its calls|to_host after 2"):
        graph.last()
    cebus.mark()
    y = x * 3
    cebus.mark()
    learner.step(0)
    cebus.mark()
    learner.step(1)
    cebus.mark()
    graph.last()
    assert graph.names.count("sgd_momentum_step") == 4
    with pytest.raises(cebus.CaptureError, match="used before"):
        graph.watch()
    assert learner.optimizer.stepped is None


def test_optimizers_of_other_iterations_are_refused():
    learner, other = Learner("sgd"), Learner("adam")
    other.step(0)
    graph = cebus.capture(optimizers=[other.optimizer])
    graph.watch()
    cebus.mark()
    x = cebus.ones(4)
    x.add_(1)
    cebus.mark()
    with pytest.raises(cebus.CaptureError, match="0 parameters were updated"):
        graph.last()
    graph.watch(False)
    assert cebus.capture().inputs == []
    assert learner.loss is None
