"""Plans for captured iterations, and plans of policies as files."""
import json
import subprocess
import sys

import numpy
import pytest

import cebus
from cebus import nn
from cebus.models.bench import on_device

def captured(device="cpu", width=256, depth=6, batch=256):
    """A captured training step, and what it moves."""
    cebus.manual_seed(3)
    with on_device(cebus.runtime(device)):
        model = nn.Sequential(*[each for _ in range(depth)
                                for each in (nn.Linear(width, width), nn.Tanh())])
        x = cebus.randn(batch, width)
        optimizer = cebus.optim.SGD(model.parameters(), lr=0.1)

        def step():
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss
        step()
        graph = cebus.capture(device=device, optimizers=[optimizer])
        with graph:
            loss = step()
    return graph, model, loss


def bits(model):
    return [p.detach().numpy().copy() for p in model.parameters()]


def test_a_planned_launch_leaves_the_same_bits(tmp_path):
    graph, model, loss = captured()
    graph.launch()
    plain, plain_loss = bits(model), loss.item()
    cebus.reset_peak_memory_stats()
    graph.launch()
    needed = cebus.max_memory_allocated()
    del graph, model, loss

    graph, model, loss = captured()
    plan = graph.advise(int(needed * 0.7), link=10 ** 9, generations=3)
    assert plan.recomputes + plan.copies > 0 and plan.memory == int(needed * 0.7)
    assert plan.seconds >= plan.ideal_seconds > 0 and "cebus.Plan" in repr(plan)
    plan.save(tmp_path / "plan.json")
    graph.set_plan(tmp_path / "plan.json")
    graph.launch()
    assert all(numpy.array_equal(a, b) for a, b in zip(plain, bits(model)))
    assert loss.item() == plain_loss
    graph.set_plan(None)
    graph.launch()


def test_the_same_search_finds_the_same_plan():
    graph, _, _ = captured(width=64, batch=64, depth=3)
    plans = [graph.advise("64MiB", generations=2, seed=5) for _ in range(2)]
    assert plans[0].numbers == plans[1].numbers


def test_plans_that_do_not_fit_are_refused(tmp_path):
    graph, _, _ = captured(width=64, batch=64, depth=3)
    with pytest.raises(cebus.OutOfMemoryError, match="alone needs"):
        graph.advise(4096, generations=1)
    with pytest.raises(ValueError):
        graph.advise("64MiB", link=(0, 0), generations=1)
    plan = graph.advise("64MiB", generations=1)
    other, _, _ = captured(width=64, batch=64, depth=2)
    with pytest.raises(ValueError, match="program"):
        other.set_plan(plan)
    with pytest.raises(cebus.CaptureError):
        cebus.capture().set_plan(None)
    with pytest.raises(cebus.CaptureError):
        cebus.capture().advise()


def test_files_are_not_trusted(tmp_path):
    graph, model, _ = captured(width=64, batch=64, depth=3)
    good = tmp_path / "good.json"
    graph.advise("64MiB", generations=1).save(good)
    data = json.loads(good.read_text())
    path = tmp_path / "bad.json"
    wrong = [[], {}, dict(data, cebus_plan=2), dict(data, memory=-1), dict(data, memory=True),
             dict(data, program="zz"), dict(data, steps=None), dict(data, steps=[[0]]),
             dict(data, steps=[[-1, 0]]), dict(data, steps=[[1 << 32, 0]]),
             dict(data, blocks=[[0, 0, 0, 9, 0, 0, 0]]), dict(data, blocks=[[-2] + [0] * 6]),
             dict(data, copies=[[0, 5, 0, 0]]), dict(data, link=[1]), dict(data, link="x"),
             dict(data, time_ns=1.5), dict(data, height="1")]
    for each in wrong:
        path.write_text(json.dumps(each))
        with pytest.raises(ValueError):
            graph.set_plan(path)
    for text in ("", "{", good.read_text()[:-40], "[" * 100000):
        path.write_text(text)
        with pytest.raises(ValueError):
            graph.set_plan(path)
    # Rows of the right form that make no sense fail on paper.
    changes = numpy.random.RandomState(0)
    before = bits(model)
    refused = 0
    for _ in range(40):
        changed = json.loads(good.read_text())
        table = changed[["steps", "blocks"][changes.randint(2)]]
        row = table[changes.randint(len(table))]
        row[changes.randint(2)] = int(changes.randint(2))
        path.write_text(json.dumps(changed))
        try:
            graph.set_plan(path)
        except ValueError:
            refused += 1
    assert refused > 0
    assert all(numpy.array_equal(a, b) for a, b in zip(before, bits(model)))
    with pytest.raises(OSError):
        graph.set_plan(tmp_path / "none.json")


def test_a_simulated_machine_knows_its_link():
    graph, _, _ = captured("sim:p100-16g", width=512, depth=4, batch=2048)
    plan = graph.advise("40MiB", generations=2)
    assert plan.link[0] > 0 and plan.link[3] >= 0
    cebus.runtime("sim:p100-16g").budget = "64MiB"
    try:
        graph.set_plan(plan)
        graph.launch()
    finally:
        cebus.runtime("sim:p100-16g").budget = "16GiB"


PROGRAM = """
import sys
import cebus
from cebus.models.bench import MODELS, on_device
device, path, load = sys.argv[1], sys.argv[2], sys.argv[3] == "load"
cebus.configure(device, policy="capuchin", budget="40MiB")
if load:
    cebus.load_plans(path, device)
setup = MODELS["lenet"]
with on_device(cebus.runtime(device)):
    model, (x, y) = setup.make(), setup.batch(512)
    optimizer = cebus.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        optimizer.zero_grad()
        setup.loss(model, x, y).backward()
        optimizer.step()
        cebus.runtime(device).mark()
print(cebus.plan_summary(device))
if not load:
    cebus.save_plans(path, device)
"""


def test_plans_of_a_policy_are_kept_for_another_process(tmp_path):
    device, path = "sim:titanv-12g", tmp_path / "net.plan"
    said = [subprocess.run([sys.executable, "-c", PROGRAM, device, str(path), what], check=True,
                           capture_output=True, text=True).stdout for what in ("save", "load")]
    assert "capuchin" in said[1] and json.loads(path.read_text().split("\n")[0])["plans"] >= 1
    for bad in (tmp_path / "none.plan", tmp_path / "no.plan"):
        if bad.name == "no.plan":
            bad.write_text("{}\n")
        with pytest.raises(ValueError, match=bad.name):
            cebus.load_plans(bad, device)
    with pytest.raises(ValueError):
        cebus.save_plans(tmp_path / "nothing.plan", "sim:a100-80g")
