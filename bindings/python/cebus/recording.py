"""What the runtime did, event by event: why something was evicted, what more memory would buy, and
a page that shows it all."""
import collections
import json
import os
import shutil
import subprocess
import tempfile

from . import _core
from .memory import size_text

__all__ = ["record", "explain", "report", "memory_snapshot", "memory_picture"]

NUMBERS = ("value", "bytes", "offset", "moved_from", "ns", "age_ns", "price", "next_price", "call",
           "time_ns", "device_ns")
last = {}  # device -> the recording that explain() and report() speak of


class record:
    """Records what the runtime of `device` does, in a `with` block or from start() to stop().

        with cebus.record() as run:
            train()
        print(run.explain())
        run.report("run.html")

    Not more than `limit` events are kept (some 130 bytes each).
    """

    def __init__(self, device=None, limit=1 << 20):
        self.recorder = _core.Recorder(device, limit)
        self.runtime = self.recorder.runtime

    def start(self):
        self.counters = _core.counters(self.runtime)
        self.recorder.start()
        last[str(self.runtime.device)] = self
        return self

    def stop(self):
        self.recorder.stop()
        return self

    __enter__ = start

    def __exit__(self, *exception):
        self.stop()

    def __iter__(self):
        return iter(self.recorder)

    def __len__(self):
        return len(self.recorder)

    # --- in words -------------------------------------------------------------------------------

    def _costliest(self):
        """(op, evictions, bytes, ns to bring back) by op, the dearest first."""
        ops = collections.defaultdict(lambda: [0, 0, 0])
        for event in self:
            if event.kind == "evicted":
                ops[event.op][0] += 1
                ops[event.op][1] += event.bytes
            elif event.kind == "returned":
                ops[event.op][2] += event.ns
        return sorted(((op, *row) for op, row in ops.items()), key=lambda row: -row[3])

    def _absent(self):
        """The most bytes that were given up and wanted again at one time."""
        wanted = {event.value for event in self if event.kind == "returned"}
        gone, most, now = {}, 0, 0
        for event in self:
            if event.kind == "evicted" and event.value in wanted:
                now += event.bytes - gone.get(event.value, 0)
                gone[event.value] = event.bytes
                most = max(most, now)
            elif event.kind == "returned":
                now -= gone.pop(event.value, 0)
        return most

    def explain(self, top=5):
        """Why things were given up, what it cost, and what more memory would buy, as text."""
        s = {key: value - self.counters.get(key, 0)
             for key, value in _core.counters(self.runtime).items()}
        budget = self.runtime.budget
        lines = [f"{self.runtime.device}, policy {self.runtime.policy}, budget "
                 f"{size_text(budget)}: {s['calls']} calls, {s['evictions']} evictions, "
                 f"{s['recomputes']} recomputes, {s['swap_ins']} copies back"]
        if not s["evictions"]:
            return lines[0] + "\nNothing was given up: the budget was not reached."
        share = s["recompute_ns"] / max(s["compute_ns"], 1)
        lines.append(f"Recomputing took {s['recompute_ns'] / 1e6:.1f} ms, {share:.0%} of the time "
                     f"of the calls proper; waiting for copies {s['stall_ns'] / 1e6:.1f} ms.")
        lines.append("Dearest to bring back, by the operation that made it:")
        for op, count, size, ns in self._costliest()[:top]:
            lines.append(f"  {op:<16} evicted {count} times ({size_text(size)}), "
                         f"{ns / 1e6:.2f} ms to bring back")
        lines += self._why()
        more = self._absent()
        lines.append(f"With {size_text(more)} more (a budget of {size_text(budget + more)}) all "
                     "that was wanted again could have stayed.")
        if self.recorder.lost:
            lines.append(f"The last {self.recorder.lost} events did not fit in the record.")
        return "\n".join(lines)

    def _why(self):
        event = max((event for event in self if event.kind == "evicted"), key=lambda e: e.bytes,
                    default=None)
        if event is None:
            return []
        text = (f"The largest eviction ({event.op}, {size_text(event.bytes)}, before call "
                f"{event.call}) had lain unread for {event.age_ns / 1e6:.2f} ms and takes "
                f"{event.ns / 1e6:.2f} ms to {event.method}")
        if event.next_price:
            text += f"; the next best choice cost {event.next_price / max(event.price, 1):.2f} " \
                    "times as much"
        return [text + "."]

    # --- as files -------------------------------------------------------------------------------

    def save(self, path):
        """Writes the run as `cebus report` reads it: a JSON object a line."""
        with open(path, "w", encoding="utf-8") as file:
            def put(line):
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
            put({"cebus_run": 1, "trace": "python", "policy": self.runtime.policy,
                 "budget_bytes": self.runtime.budget, "machine": str(self.runtime.device)})
            count = 0
            for line in self._lines():
                put(line)
                count += 1
            put({"kind": "end", "events": count})

    def _lines(self):
        start = self.recorder[0].device_ns if len(self) else 0
        for block in blocks_of(self.recorder.before):
            if block["state"] != "free":
                yield {"kind": "placed", "bytes": block["size"], "offset": block["address"],
                       "memory_class": int(block["zone"] == "persistent"), "op": "before",
                       "device_ns": start}
        clock = start
        for event in self:
            line = {"kind": event.kind, "op": event.op,
                    "rung": _core.rungs.index(event.rung),
                    "method": _core.methods.index(event.method),
                    "memory_class": _core.memory_classes.index(event.memory_class)}
            for name in NUMBERS:
                line["from" if name == "moved_from" else name] = min(getattr(event, name),
                                                                     (1 << 63) - 1)
            clock = line["device_ns"] = max(clock, event.device_ns)
            yield {key: value for key, value in line.items() if value or key == "kind"}

    def report(self, path, program=None):
        """Writes a page of HTML that shows the run: memory, addresses, streams, costs. It needs
        the program `cebus`: in the PATH, under CEBUS_PROGRAM, or as `program`."""
        program = program or os.environ.get("CEBUS_PROGRAM") or shutil.which("cebus")
        if not program:
            raise _core.UnsupportedError("report: the program `cebus` was not found: put it into "
                                         "the PATH, or its path into CEBUS_PROGRAM")
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "python.run")
            self.save(run)
            done = subprocess.run([program, "report", run, "-o", os.fspath(path)],
                                  capture_output=True, text=True, check=False)
        if done.returncode:
            raise _core.Error("report: " + (done.stderr.strip() or f"{program} failed"))


def _last(device):
    found = last.get(str(_core.runtime(device).device))
    if found is None:
        raise _core.Error("nothing was recorded: use `with cebus.record():` around what is to be "
                          "explained")
    return found


def explain(device=None, top=5):
    """Why things were given up in the last recording, and what more memory would buy."""
    return _last(device).explain(top)


def report(path, device=None):
    """The last recording as a page of HTML."""
    _last(device).report(path)


# --- now --------------------------------------------------------------------------------------

def blocks_of(dump):
    """The blocks of an arena's dump."""
    found = []
    for line in dump.splitlines():
        words = line.split()
        if len(words) >= 3 and words[0].isdigit() and words[1].isdigit():
            found.append({"address": int(words[0]), "size": int(words[1]), "state": words[2],
                          "zone": words[3] if len(words) > 3 else ""})
    return found


def memory_snapshot(device=None):
    """The arena as PyTorch's memory_snapshot: a list with one segment and its blocks."""
    where = _core.runtime(device)
    blocks = blocks_of(_core.memory_dump(where))
    used = sum(block["size"] for block in blocks if block["state"] != "free")
    states = {"free": "inactive", "unmapped": "inactive"}
    return [{"device": str(where.device), "address": 0, "total_size": where.budget,
             "allocated_size": used, "active_size": used, "segment_type": "large",
             "blocks": [dict(block, state=states.get(block["state"], "active_allocated"))
                        for block in blocks]}]


class Picture:
    """The memory of a device: a bar, and what was brought back. Notebooks show it as HTML."""

    COLORS = (("parameters, state", "#4269d0"), ("other values", "#ff8ab7"), ("free", "#e5e7eb"))

    def __init__(self, device=None):
        self.runtime = _core.runtime(device)
        self.stats = _core.counters(self.runtime)

    def parts(self):
        """(name, bytes) of the budget."""
        s = self.stats
        kept = min(s["active_bytes_persistent"], s["allocated_bytes_current"])
        return [("parameters, state", kept), ("other values", s["allocated_bytes_current"] - kept),
                ("free", max(self.runtime.budget - s["allocated_bytes_current"], 0))]

    def __repr__(self):
        width, budget = 40, max(self.runtime.budget, 1)
        marks = ""
        for sign, (_, size) in zip("#+.", self.parts()):
            marks += sign * round(width * size / budget)
        return (f"[{marks[:width].ljust(width, '.')}] "
                f"{size_text(self.stats['allocated_bytes_current'])} of "
                f"{size_text(self.runtime.budget)}, {self._returned()}")

    def _returned(self):
        s = self.stats
        return (f"{s['evictions']} evictions, {s['recomputes']} recomputes "
                f"({s['recompute_ns'] / 1e6:.1f} ms), {s['swap_ins']} copies back")

    def _repr_html_(self):
        budget = max(self.runtime.budget, 1)
        cells, legend = "", ""
        for (name, size), (_, color) in zip(self.parts(), self.COLORS):
            cells += (f'<div style="width:{100 * size / budget:.3f}%;background:{color}" '
                      f'title="{name}: {size_text(size)}"></div>')
            legend += (f'<span style="color:{color}">&#9632;</span> {name} '
                       f'{size_text(size)}&emsp;')
        return ('<div style="max-width:40em;font:13px sans-serif">'
                f'<b>cebus</b> {self.runtime.device}, policy {self.runtime.policy}, budget '
                f'{size_text(self.runtime.budget)}, peak '
                f'{size_text(self.stats["allocated_bytes_peak"])}'
                '<div style="display:flex;height:1.2em;border:1px solid #999;margin:.3em 0">'
                f'{cells}</div>{legend}<br>{self._returned()}</div>')


def memory_picture(device=None):
    """The memory of a device as a bar."""
    return Picture(device)
