"""Budgets, statistics, events, recordings and reports."""
import gc
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import cebus
from cebus import _core, nn


def work(layers=24, rows=128):
    """A forward and a backward pass whose activations are far more than its parameters."""
    model = nn.Sequential(*[layer for _ in range(layers)
                            for layer in (nn.Linear(16, 16), nn.Tanh())])
    (model(cebus.randn(rows, 16)) ** 2).mean().backward()
    return [p.grad.tolist() for p in model.parameters()]


@pytest.fixture
def tight():
    """A budget that makes work() give things up."""
    gc.collect()
    cebus.manual_seed(3)
    with cebus.budget(cebus.memory_allocated() + 180 * 1024) as runtime:
        yield runtime


def test_every_counter_of_the_header_has_its_name():
    header = Path(__file__).parents[3] / "eager/include/cebus/memory.h"
    names = re.findall(r"^ +uint64_t\s+(\w+);", header.read_text(), re.MULTILINE)
    assert len(names) > 70 and list(cebus._core.counters())[:len(names)] == names
    assert set(names) <= set(cebus.memory_stats())


def test_budgets_are_held_and_come_back(tight):
    before = tight.budget
    cebus.reset_peak_memory_stats()
    with cebus.budget(before - 4096):
        assert cebus.get_budget() == before - 4096
        work()
    assert cebus.get_budget() == before and cebus.max_memory_allocated() <= before - 4096
    with pytest.raises(ZeroDivisionError):
        with cebus.budget("100MiB"):
            1 / 0
    assert cebus.get_budget() == before


@pytest.mark.parametrize("size, error", [
    ("6 furlongs", ValueError), (float("nan"), ValueError), (-1, ValueError), ("-5MiB", ValueError),
    (float("inf"), ValueError), (None, TypeError), (True, TypeError), (1 << 70, ValueError)])
def test_bad_budgets_are_refused(size, error):
    before = cebus.get_budget()
    with pytest.raises(error):
        cebus.set_budget(size)
    assert cebus.get_budget() == before


def test_sizes_are_texts_numbers_and_shares():
    before = cebus.get_budget()
    try:
        cebus.set_budget("64MiB")
        assert cebus.get_budget() == 64 << 20
        cebus.set_budget(32e6)
        assert cebus.get_budget() == 32_000_000
        cebus.set_budget("1%")
        assert 0 < cebus.get_budget() < before
    finally:
        cebus.set_budget(before)


def test_out_of_memory_says_why_and_the_next_call_runs(tight):
    held = cebus.ones(16, requires_grad=True)
    with pytest.raises(cebus.OutOfMemoryError) as error:
        cebus.ones(1 << 20) + 1
    assert isinstance(error.value, RuntimeError) and error.value.bytes_wanted == 4 << 20
    assert "budget" in cebus.oom_report() and error.value.status == "CEBUS_OUT_OF_MEMORY"
    (held * 2).sum().backward()
    assert held.grad.tolist() == [2] * 16
    tight.check()


def test_statistics_have_pytorchs_names(tight):
    before = cebus.memory_stats()
    work()
    after = cebus.memory_stats()
    assert after["evictions"] > before["evictions"] and after["recomputes"] > before["recomputes"]
    assert after["allocated_bytes.all.peak"] == cebus.max_memory_allocated() <= tight.budget
    assert after["reserved_bytes.all.current"] == cebus.memory_reserved() == tight.budget
    assert "recomputes" in cebus.memory_summary()
    (segment,) = cebus.memory_snapshot()
    assert segment["total_size"] == tight.budget
    assert sum(block["size"] for block in segment["blocks"]) == tight.budget
    assert segment["allocated_size"] == cebus.memory_allocated()


def test_policies_change_at_any_time(tight):
    first = tight.policy
    try:
        results = []
        for name in ("lru", "dtr", "coop"):
            cebus.set_policy(name)
            cebus.manual_seed(5)
            results.append(work())
        assert results[0] == results[1] == results[2]
        with pytest.raises(ValueError):
            cebus.set_policy("magic")
    finally:
        cebus.set_policy(first)


def test_events_reach_python_and_hooks_may_use_cebus(tight):
    seen = []
    with cebus.add_event_hook(lambda event: seen.append((event.kind, event.op,
                                                          cebus.memory_allocated()))):
        work()
    count = len(seen)
    work(2)
    assert len(seen) == count and {"placed", "freed", "called", "evicted"} <= {e[0] for e in seen}
    assert "linear" in {e[1] for e in seen}


def test_a_hook_that_raises_stops_nothing(tight, monkeypatch):
    seen, called = [], []
    monkeypatch.setattr("sys.unraisablehook",
                        lambda failed: seen.append((failed.exc_type, failed.object)))

    def hook(event):
        called.append(event.kind)
        return 1 / 0

    with cebus.add_event_hook(hook):
        x = (cebus.ones(3) + 1).tolist()
    assert x == [2, 2, 2] and called and seen == len(called) * [(ZeroDivisionError, hook)]


def test_what_a_hook_raises_is_printed_once(tight, monkeypatch, capfd):
    monkeypatch.setattr("sys.unraisablehook", sys.__unraisablehook__)

    def hook(event):
        raise ValueError("said once")

    with cebus.add_event_hook(hook):
        cebus.set_budget("30MiB")
    printed = capfd.readouterr().err
    assert printed.count("ValueError: said once") == 1 and "in hook" in printed


def test_a_hook_is_not_called_for_what_it_does_itself(tight):
    """Each of two hooks causes events in every event: the other sees them, and it ends."""
    budgets, kinds = [], []

    def resize(event):
        budgets.append(event.kind)
        cebus.set_budget(f"{31 + len(budgets) % 2}MiB")

    def compute(event):
        kinds.append(event.kind)
        cebus.ones(3)

    with cebus.add_event_hook(resize):
        cebus.set_budget("30MiB")
        assert budgets == ["budget"]
        with cebus.add_event_hook(compute):
            cebus.ones(5)
    assert "budget" in kinds and "called" in budgets
    assert cebus.ones(2).tolist() == [1, 1]


def test_recordings_explain_themselves(tight):
    with cebus.record() as run:
        work()
    text = cebus.explain()
    assert text == run.explain() and "evictions" in text and "more (a budget of" in text
    assert "tanh" in text or "linear" in text
    with cebus.budget("200MiB"), cebus.record() as quiet:
        work(2)
    assert "Nothing was given up" in quiet.explain()
    with cebus.record(limit=10) as short:
        work(2)
    assert len(short) == 10 and short.recorder.lost > 0
    with cebus.record(), pytest.raises(RuntimeError, match="already"):
        cebus.record().start()


@pytest.mark.parametrize("names, enumeration", [
    (_core.event_kinds, "cebus_event_kind"), (_core.rungs, "cebus_rung"),
    (_core.methods, "cebus_method"), (_core.memory_classes, "cebus_memory_class")])
def test_events_have_the_names_of_the_header(names, enumeration):
    header = Path(__file__).parents[3] / "eager/include/cebus/log.h"
    text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.S)
    body = re.search(r"typedef enum " + enumeration + r" \{(.*?)\}", text, re.S).group(1)
    found = [each.split("=")[0].strip().lower() for each in body.split(",") if each.strip()]
    assert len(names) == len(found)
    assert all(full.endswith(name) for name, full in zip(names, found)), found


def test_every_event_of_guided_steps_has_a_name():
    cebus.manual_seed(3)
    gc.collect()
    model = nn.Sequential(*[layer for _ in range(12) for layer in (nn.Linear(16, 16), nn.Tanh())])
    optimizer = cebus.optim.SGD(model.parameters(), lr=0.1)
    kinds = set()
    with cebus.budget(cebus.memory_allocated() + 90 * 1024) as runtime:
        before = runtime.policy
        cebus.set_policy("sublinear")
        with cebus.add_event_hook(lambda event: kinds.add(event.kind)):
            for _ in range(12):
                optimizer.zero_grad()
                (model(cebus.randn(128, 16)) ** 2).mean().backward()
                optimizer.step()
                cebus.mark()
        cebus.set_policy(before)
    assert {"evicted", "mark", "guided"} <= kinds


@pytest.mark.skipif(not os.environ.get("CEBUS_PROGRAM"), reason="no program cebus in this build")
def test_a_report_is_a_page(tight, tmp_path):
    kept = cebus.ones(100)
    with cebus.record() as run:
        for _ in range(2):
            work()
            cebus.mark()
    run.report(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "<svg" in page or "<canvas" in page
    assert "http://" not in page.replace("http://www.w3.org", "") and len(page) > 10000
    cebus.report(tmp_path / "again.html")
    assert (tmp_path / "again.html").exists() and kept.sum().item() == 100


def test_a_report_without_the_program_says_so(tight, tmp_path, monkeypatch):
    with cebus.record() as run:
        work(2)
    monkeypatch.delenv("CEBUS_PROGRAM", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotImplementedError, match="CEBUS_PROGRAM"):
        run.report(tmp_path / "run.html")


def test_pictures():
    picture = cebus.memory_picture()
    assert "of" in repr(picture) and "<div" in picture._repr_html_()
    assert cebus.runtime()._repr_html_().count("<div") == picture._repr_html_().count("<div")


def test_simulated_machines_take_no_memory_and_have_a_clock():
    where = "sim:p100-16g"
    x = cebus.ones(4096, 4096, device=where)
    before = cebus.memory_stats(where)["device_ns"]
    y = x @ x
    assert y.device == where and cebus.memory_stats(where)["device_ns"] > before
    assert cebus.memory_allocated(where) >= 2 * 4096 * 4096 * 4
    assert "..." in repr(y)
    with pytest.raises(RuntimeError, match="same device"):
        y + cebus.ones(4096, 4096)
    with pytest.raises(TypeError):
        y.numpy()


def test_threads_share_a_runtime(tight):
    errors = []

    def run(seed):
        try:
            for _ in range(5):
                work(4, 32)
        except Exception as error:  # noqa: BLE001
            errors.append(error)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not errors and not any(thread.is_alive() for thread in threads)
    tight.check()


def test_names_and_options_that_make_no_sense_are_refused():
    for name, error in (("coop\0x", ValueError), (None, TypeError), (7, TypeError)):
        with pytest.raises(error, match="policy"):
            cebus.set_policy(name)
    with pytest.raises(ValueError, match="swap is 'on'"):
        cebus.configure("sim:p100-16g,link=11GB", swap="on")
    with pytest.raises(TypeError, match="no option 'spil'"):
        cebus.configure("cpu", spil=3)
    for options, error in (({"host_budget": "40%"}, "host_budget: '40%' of what"),
                           ({"spill_budget": -1}, "spill_budget: a size of -1"),
                           ({"spill_directory": 3}, "spill_directory: expected str"),
                           ({"seed": -1}, "seed: can't"), ({"debug": 1 << 40}, "debug: value"),
                           ({"threads": "two"}, "threads: an integer"),
                           ({"policy": 3}, "policy: policy is a str")):
        with pytest.raises((TypeError, ValueError, OverflowError), match="configure: " + error):
            cebus.configure("sim:p100-16g,link=11GB", **options)


SPILLS = """
import cebus
from cebus import nn
cebus.configure("cpu", threads=1, swap=True, host_budget="256KiB", spill_budget="16MiB",
                spill_directory=DIRECTORY)
def train():
    cebus.manual_seed(1)
    net = nn.Sequential(*[nn.Linear(128, 128) for _ in range(12)])
    optimizer = cebus.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(4):
        optimizer.zero_grad()
        net(cebus.ones(8, 128)).square().mean().backward()
        optimizer.step()
    return [p.tolist() for p in net.parameters()]
wanted = train()
with cebus.budget("700KiB"):
    assert train() == wanted
stats = cebus.memory_stats()
assert stats["spilled_bytes"] > 0 and stats["unspilled_bytes"] > 0
print(cebus.memory_tiers())
"""


def test_models_larger_than_memory_wait_in_a_file(tmp_path):
    program = SPILLS.replace("DIRECTORY", repr(str(tmp_path)))
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True,
                          text=True).stdout
    assert "spill file" in said and "of 16.0 MiB" in said
