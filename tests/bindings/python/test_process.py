"""Leaks, interrupts, forks, cycles."""
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import tracemalloc
import weakref

import pytest

import cebus


def test_a_million_small_tensors_leave_nothing():
    def burst(n):
        x = cebus.ones(4, requires_grad=True)
        for _ in range(n):
            y = x + 1.0
            z = y * y
        del y, z
    burst(1000)
    gc.collect()
    before, records = cebus.memory_allocated(), cebus.memory_stats()["live_records"]
    books = cebus.memory_stats()["host_bytes"]
    tracemalloc.start()
    first = tracemalloc.get_traced_memory()[0]
    burst(20000)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - first
    tracemalloc.stop()
    burst(480000)
    gc.collect()
    assert grown < 20000 and cebus.memory_allocated() <= before
    assert cebus.memory_stats()["live_records"] <= records
    assert cebus.memory_stats()["host_bytes"] <= books + (1 << 20)


def test_cycles_are_collected():
    x = cebus.ones(1000)
    x.myself = x
    gone = weakref.ref(x)
    held = cebus.memory_allocated()
    del x
    gc.collect()
    assert gone() is None and cebus.memory_allocated() < held


def test_gradients_do_not_hold_their_tensors():
    gc.collect()
    held = cebus.memory_allocated()
    for _ in range(3):
        x = cebus.ones(1000, requires_grad=True)
        (x * x).sum().backward()
        assert x.grad is not None
    del x
    gc.collect()
    assert cebus.memory_allocated() <= held


def test_an_exception_holds_nothing_back():
    def fails():
        kept = cebus.ones(100000) * 2  # held by the frame of the traceback
        assert kept.numel() == 100000
        raise ValueError
    try:
        fails()
    except ValueError as error:
        kept = error
    with cebus.budget(cebus.memory_allocated() + 400000):
        (cebus.ones(90000) + 1).sum().item()
    assert kept is not None


def test_an_interrupt_leaves_everything_consistent():
    x = cebus.ones(64, 64, requires_grad=True)
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            x.grad = None
            (x @ x).tanh().sum().backward()
    timer.join()
    x.grad = None
    x.sum().backward()
    assert x.grad.sum().item() == 64 * 64
    cebus.runtime().check()


def interrupted(block, check):
    """Interrupts a loop of blocks 300 times, wherever it is."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for i in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-4 + i * 1e-6)
                while True:
                    with block():
                        pass
            except KeyboardInterrupt:
                check()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("block", [cebus.no_grad, cebus.inference_mode])
def test_an_interrupt_does_not_leave_recording_off(block):
    def check():
        assert cebus.is_grad_enabled()
    interrupted(block, check)


def test_an_interrupt_does_not_leave_a_hint_in_force():
    def check():
        for _ in range(64):
            scopes.append(cebus.hint("must_save"))
            scopes[-1].__enter__()  # of 64 there is room for all
        while scopes:
            scopes.pop().__exit__()
    scopes = []
    interrupted(lambda: cebus.hint("prefer_save"), check)


def child(queue):
    try:
        cebus.ones(3) + 1
        queue.put("worked")
    except RuntimeError as error:
        queue.put(str(error))


@pytest.mark.parametrize("ending", ["pass", "raise KeyboardInterrupt", "sys.exit(3)"])
def test_a_program_that_ends_has_its_trace(ending, tmp_path):
    path = tmp_path / "trace"
    path.write_text("the one before")
    run(f"""
        import os, sys
        import cebus
        cebus.trace_start({str(path)!r})
        x = cebus.ones(3) + 1
        if os.fork() == 0:
            sys.exit(0)
        os.wait()
        {ending}
    """)
    lines = path.read_text().splitlines()
    assert '"cebus_trace": 1' in lines[0] and any('"name": "add' in line for line in lines)
    assert os.listdir(tmp_path) == ["trace"]


def test_a_forked_child_gets_an_error_not_a_deadlock():
    x = cebus.ones(3) + 1
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    answer = queue.get(timeout=60)
    process.join(60)
    assert "fork" in answer and "spawn" in answer and process.exitcode == 0
    assert x.tolist() == [2, 2, 2]


def run(script):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True,
                          text=True, timeout=120, check=False)


def test_a_child_of_a_process_that_never_used_cebus_works():
    done = run("""
        import os, cebus
        if os.fork() == 0:
            os._exit(0 if (cebus.ones(2) + 1).tolist() == [2, 2] else 1)
        assert os.wait()[1] == 0
        print((cebus.ones(2) + 1).tolist())
    """)
    assert done.returncode == 0 and done.stdout == "[2.0, 2.0]\n", done.stderr


def test_ending_with_tensors_alive_is_quiet():
    done = run("""
        import cebus, threading
        kept = cebus.ones(5)
        view = memoryview(kept)
        hook = cebus.add_event_hook(lambda event: None)
        recorded = cebus.record().start()
        threading.Thread(target=lambda: cebus.ones(3), daemon=True).start()
        kept + 1
    """)
    assert done.returncode == 0 and done.stderr == ""


def test_without_numpy_everything_but_arrays_works():
    done = run("""
        import sys
        sys.modules["numpy"] = None
        import cebus
        x = cebus.tensor([[3.0, 1.0], [0.0, 2.0]])
        print(x.sort().values.tolist(), x.argsort(descending=True).tolist(), x[x > 1].tolist())
        print(repr(cebus.randperm(3).sum()), cebus.tensor([1, 2]))
    """)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "[[1.0, 3.0], [0.0, 2.0]] [[0, 1], [1, 0]] [3.0, 2.0]"
    assert done.stdout.splitlines()[1] == "tensor(3) tensor([1, 2])"


def test_threads_find_the_runtime_made_once():
    done = run("""
        import threading, cebus
        out = []
        threads = [threading.Thread(target=lambda: out.append(cebus.ones(10) + 1))
                   for _ in range(16)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        total = out[0]
        for each in out[1:]:
            total = total + each
        print(total.sum().item())
    """)
    assert done.stdout == "320.0\n", done.stderr
