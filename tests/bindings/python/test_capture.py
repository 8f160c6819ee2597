"""cebus.capture: iterations that are recorded once and launched again."""
import numpy as np
import pytest

import cebus
from cebus import nn, optim


def network(kind):
    cebus.manual_seed(3)
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Dropout(0.25), nn.Linear(16, 4))
    make = {"sgd": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
            "adam": lambda p: optim.AdamW(p, lr=0.01)}[kind]
    return model, make(model.parameters())


def batch(step):
    numbers = np.random.default_rng(step)
    return (cebus.tensor(numbers.standard_normal((6, 8)).astype("float32")),
            cebus.tensor(numbers.integers(0, 4, 6)))


def step_of(model, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def train(kind, captured, steps=6):
    model, optimizer = network(kind)
    step = step_of(model, optimizer)
    if captured:
        step = cebus.capture(step, optimizers=[optimizer])
    losses = [step(*batch(i)).item() for i in range(steps)]
    counts = {state["step"] for state in optimizer.state.values()}
    return losses, [p.detach().numpy().copy() for p in model.parameters()], counts, step


@pytest.mark.parametrize("kind", ["sgd", "adam"])
def test_launches_leave_the_bits_of_the_program(kind):
    losses, parameters, counts, _ = train(kind, False)
    again, moved, counted, step = train(kind, True)
    assert again == losses and counted == counts == {6}
    for a, b in zip(parameters, moved):
        assert np.array_equal(a, b)
    assert len(step) > 15 and "linear" in " ".join(step.names)


@pytest.mark.parametrize("turns", [1, 3])
def test_launches_count_steps_as_the_program_does(turns):
    """So many in an iteration, and some between launches that the program takes itself."""
    def run(captured):
        model, optimizer = network("adam")

        def step(x, y):
            for _ in range(turns):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
            return loss

        launched = cebus.capture(step, optimizers=[optimizer]) if captured else step
        losses = []
        for i in range(9):
            x, y = batch(i)
            losses.append(step(x[:4], y[:4]).item() if i in (4, 5, 7) else launched(x, y).item())
        return losses, [p.tolist() for p in model.parameters()], launched, optimizer

    losses, parameters, *_ = run(False)
    again, moved, launched, optimizer = run(True)
    assert again == losses and moved == parameters
    assert {state["step"] for state in optimizer.state.values()} == {9 * turns}
    optimizer.state[optimizer.param_groups[0]["params"][0]]["step"] += turns
    with pytest.raises(cebus.CaptureError, match="counts of steps"):
        launched(*batch(9))


def test_a_schedule_within_the_block_is_refused():
    model, optimizer = network("sgd")
    schedule = optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    graph = cebus.capture(optimizers=[optimizer])
    x, y = batch(0)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    step()
    with pytest.raises(cebus.CaptureError, match="options changed"):
        with graph:
            step()
            schedule.step()
    with graph:  # of what was recorded nothing is left
        step()
    schedule.step()
    with pytest.raises(cebus.CaptureError, match="capture again"):
        graph.launch()


def test_launches_go_on_from_a_state_that_was_loaded():
    def run(captured):
        model, optimizer = network("adam")
        step = step_of(model, optimizer)
        if captured:
            step = cebus.capture(step, optimizers=[optimizer])
        losses = []
        for i in range(8):
            if i == 5:  # numbers of the third step, counted on
                saved = {at: dict(each, step=5) for at, each in saved.items()}
                optimizer.load_state_dict(dict(optimizer.state_dict(), state=saved))
            losses.append(step(*batch(i)).item())
            if i == 2:
                saved = {at: {key: value.clone() if isinstance(value, cebus.Tensor) else value
                              for key, value in each.items()}
                         for at, each in optimizer.state_dict()["state"].items()}
        return losses

    assert run(True) == run(False)


@pytest.mark.parametrize("make", [
    optim.Adamax, optim.NAdam, optim.RAdam, optim.ASGD, lambda p: optim.Adam(p, amsgrad=True),
    lambda p: optim.Adagrad(p, lr_decay=0.1)])
def test_steps_that_depend_on_their_number_are_refused(make):
    w = nn.Parameter(cebus.ones(3))
    optimizer = make([w])
    w.grad = cebus.ones(3)
    optimizer.step()
    before = w.tolist()
    graph = cebus.capture(optimizers=[optimizer])
    with pytest.raises(cebus.CaptureError, match="step: cannot be captured"):
        with graph:
            optimizer.step()
    assert w.tolist() == before and {s["step"] for s in optimizer.state.values()} == {1}
    graph.watch()
    for _ in range(4):
        optimizer.step()
        cebus.mark()
    with pytest.raises(cebus.CaptureError, match="depend on their number"):
        graph.last()
    graph.watch(False)


@pytest.mark.parametrize("make", [
    optim.Adadelta, optim.Adagrad, lambda p: optim.RMSprop(p, momentum=0.9, centered=True)])
def test_composed_steps_are_captured(make):
    def run(captured):
        w = nn.Parameter(cebus.linspace(-1, 1, 5))
        optimizer = make([w])

        def step(x):
            optimizer.zero_grad()
            ((w - x) ** 2).sum().backward()
            optimizer.step()

        if captured:
            step = cebus.capture(step, optimizers=[optimizer])
        for i in range(6):
            step(cebus.tensor([float(i)] * 5))
        return w.tolist()

    assert run(True) == run(False)


def test_a_block_reads_its_inputs_anew():
    x = cebus.ones(4)
    graph = cebus.capture()
    with graph:
        y = (x + 1) * (x * 3)
    x.copy_(cebus.tensor([2.0] * 4))
    graph.launch()
    assert y.tolist() == [18.0] * 4
    graph.set_order([1, 0, 2])
    x.copy_(cebus.tensor([3.0] * 4))
    graph.launch()
    assert y.tolist() == [36.0] * 4
    with pytest.raises(cebus.Error, match="which it must follow"):
        graph.set_order([2, 0, 1])
    with pytest.raises(cebus.CaptureError, match="used before"):
        with graph:
            pass


def test_what_cannot_come_again_is_refused():
    x = cebus.ones(4, requires_grad=True)
    with pytest.raises(cebus.CaptureError, match="item"):
        with cebus.capture():
            x.sum().item()
    with pytest.raises(cebus.CaptureError, match="the host would write"):
        with cebus.capture():
            cebus.tensor([1.0])
    with pytest.raises(cebus.CaptureError, match="a backward is still to come"):
        with cebus.capture():
            y = x * 2
    with pytest.raises(ZeroDivisionError):
        with cebus.capture():
            y = x * 2
            y / (1 // 0)
    with cebus.capture() as graph:  # none of them is left half done
        y = x.detach() * 2
    graph.launch()
    assert y.tolist() == [2.0] * 4
    with pytest.raises(cebus.CaptureError, match="nothing was captured"):
        cebus.capture().launch()


def test_other_arguments_and_options_are_refused():
    _, _, _, step = train("sgd", True)
    x, y = batch(9)
    with pytest.raises(cebus.CaptureError, match="another shape or type"):
        step(x[:3], y[:3])
    with pytest.raises(cebus.CaptureError, match="1 arguments"):
        step(x)
    step(x, y)
    step.optimizers[0].param_groups[0]["lr"] = 0.5
    with pytest.raises(cebus.CaptureError, match="capture again"):
        step(x, y)


def test_whole_numbers_beside_a_tensor_are_made_by_calls():
    x = cebus.tensor([7])
    graph = cebus.capture()
    with graph:
        y = x * 3 + 1
        z = cebus.where(x > 8, 10, x) - x + x // 2 + x % 4
    x.copy_(cebus.tensor([9]))
    graph.launch()
    assert y.tolist() == [28] and z.tolist() == [6]


def test_a_call_that_failed_half_way_takes_no_other_batch():
    size, before = 64 * 64 * 4, cebus.get_budget()
    first, second, w = (cebus.randn(64, 64) for _ in range(3))
    step = cebus.capture(lambda x: ((x @ w).tanh() @ w).exp() @ (x @ w).sin() @ x, warmup=0)
    wanted = step(first).tolist(), step(second).tolist()
    try:
        cebus.set_budget(7 * size // 2)  # what a product reads and makes, and half as much again
        with pytest.raises(cebus.OutOfMemoryError):
            step(first)
        cebus.set_budget(before)
        with pytest.raises(cebus.CaptureError, match="failed half way"):
            step(second)
        assert step(first).tolist() == wanted[0]
        assert step(second).tolist() == wanted[1]
        cebus.set_budget(7 * size // 2)
        with pytest.raises(cebus.OutOfMemoryError):
            step(first)
    finally:
        cebus.set_budget(before)
    assert step.launch().tolist() == wanted[0]
