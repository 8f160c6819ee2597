"""The reason to be here: a hard budget, and where the memory went."""
from . import _core
from ._core import (  # noqa: F401
    add_event_hook, max_memory_allocated, memory_allocated, memory_reserved, memory_tiers,
    oom_report, reset_peak_memory_stats, trace_start, trace_stop)

__all__ = ["set_budget", "get_budget", "budget", "set_policy", "memory_stats", "memory_summary",
           "add_event_hook", "max_memory_allocated", "memory_allocated", "memory_reserved",
           "memory_tiers", "oom_report", "reset_peak_memory_stats", "trace_start", "trace_stop",
           "synchronize", "trim", "mark"]


def set_budget(size, device=None):
    """Sets the bytes of device memory that may be used, at any time: "6GiB", "40%", or a number.

    Percentages are of what a runtime gets without a budget (on the CPU 80% of what the process may
    use). Shrinking gives up what must go at once; when what cannot go does not fit,
    OutOfMemoryError, and the old budget stands.
    """
    _core.runtime(device).budget = size


def get_budget(device=None):
    """The budget in bytes."""
    return _core.runtime(device).budget


class budget:
    """A budget for a `with` block; the old one comes back after it."""

    def __init__(self, size, device=None):
        self.size, self.runtime = size, _core.runtime(device)

    def __enter__(self):
        self.before = self.runtime.budget
        self.runtime.budget = self.size
        return self.runtime

    def __exit__(self, *exception):
        self.runtime.budget = self.before


def set_policy(name, device=None):
    """Chooses what goes first when memory is short: one of cebus.policies()."""
    _core.runtime(device).policy = name


def synchronize(device=None):
    """Waits for everything enqueued."""
    _core.runtime(device).synchronize()


def trim(device=None):
    """Gives up all that can be rebuilt, and returns free pages to the system."""
    _core.runtime(device).trim()


def mark(device=None):
    """Says that an iteration ended; policies that plan ahead learn from it."""
    _core.runtime(device).mark()


# PyTorch's names of what the C library counts.
TORCH_KEYS = {
    "allocated_bytes.all.current": "allocated_bytes_current",
    "allocated_bytes.all.peak": "allocated_bytes_peak",
    "allocated_bytes.all.allocated": "allocated_bytes_allocated",
    "reserved_bytes.all.current": "reserved_bytes_current",
    "active_bytes.persistent.current": "active_bytes_persistent",
    "inactive_split_bytes.all.current": "inactive_split_bytes",
    "num_alloc_retries": "num_alloc_retries",
    "num_ooms": "num_ooms",
}


def memory_stats(device=None):
    """Every counter, by its C name and, where PyTorch has it, by PyTorch's `metric.pool.kind`;
    and DLPack exports, whose storages are pinned."""
    found = _core.counters(device)
    for name, counter in TORCH_KEYS.items():
        found[name] = found[counter]
    found["exports_current"], found["exported_bytes_current"] = _core.exports()
    return found


def size_text(n):
    """Bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024 or unit == "GiB":
            return f"{n} B" if unit == "B" else f"{n:.2f} {unit}"
        n /= 1024


def memory_summary(device=None, abbreviated=False):
    """The counters that matter, as text."""
    s, where = _core.counters(device), _core.runtime(device)
    lines = [f"cebus memory on {where.device}, policy {where.policy}"]
    rows = [("budget", size_text(s["reserved_bytes_current"])),
            ("allocated", size_text(s["allocated_bytes_current"])),
            ("  peak", size_text(s["allocated_bytes_peak"])),
            ("  parameters, state", size_text(s["active_bytes_persistent"])),
            ("largest hole", size_text(s["largest_hole"])),
            ("calls", f"{s['calls']}"),
            ("evictions", f"{s['evictions']} ({size_text(s['dropped_bytes'])})"),
            ("recomputes", f"{s['recomputes']} ({s['recompute_ns'] / 1e6:.1f} ms)"),
            ("swapped out", f"{s['swap_outs']} ({size_text(s['swapped_out_bytes'])})"),
            ("swapped in", f"{s['swap_ins']} ({size_text(s['swapped_in_bytes'])})"),
            ("compactions", f"{s['compactions']} ({size_text(s['moved_bytes'])})"),
            ("out-of-memory errors", f"{s['num_ooms']}")]
    width = max(len(name) for name, _ in rows)
    return "\n".join(lines + [f"  {name:<{width}}  {value}" for name, value in rows])
