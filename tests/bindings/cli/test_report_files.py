#!/usr/bin/env python3
"""cebus report --perfetto and --snapshot: files for two viewers, against the page's own figures.

usage: test_report_files.py PROGRAM
"""
import json
import os
import pickle
import pickletools

from cli import MIB, MS, Trace, example, main
from page import Page, write_run

LOGS = os.path.join(os.path.dirname(__file__), "..", "..", "support", "dtr")
RUNS = (
    ("chain.log", "--budget", "50%", "--policy", "dtr"),
    ("mutations.log", "--budget", "50%", "--policy", "coop", "--swap", "on"),
    ("all_kinds.log", "--budget", "80%", "--policy", "lru", "--swap", "on"),
)

# What unpickle() of torch/utils/viz/MemoryViz.js knows.
VIEWER_OPCODES = {
    "APPENDS", "BINGET", "BININT", "BININT1", "BININT2", "EMPTY_DICT", "EMPTY_LIST", "FRAME",
    "LONG1", "LONG_BINGET", "MARK", "MEMOIZE", "PROTO", "SETITEMS", "SHORT_BINUNICODE", "STOP",
    "TUPLE2", "APPEND", "NEWFALSE", "BINPUT", "BINUNICODE", "EMPTY_TUPLE", "NEWTRUE", "NONE",
    "BINFLOAT", "TUPLE", "TUPLE1", "TUPLE3"}
SEGMENT = {"device", "address", "total_size", "stream", "segment_type", "segment_pool_id",
           "allocated_size", "active_size", "requested_size", "is_expandable", "frames", "blocks"}
BLOCK = {"address", "size", "requested_size", "state", "frames"}
ENTRY = {"action", "addr", "size", "stream", "time_us", "frames"}
FRAME = {"filename", "line", "name"}


def record(cli, name, *options):
    run = cli.path("a.run")
    cli.run("replay", name if os.path.isabs(name) else os.path.join(LOGS, name),
            "--record", run, *options)
    return run


# --- Perfetto -------------------------------------------------------------------------------------

def perfetto(cli, run):
    path = cli.path("p.json")
    cli.run("report", run, "--perfetto", path)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def ns(microseconds):
    exact = round(microseconds * 1000)
    assert abs(microseconds * 1000 - exact) < 1e-3, microseconds
    return exact


def thread_names(trace):
    return {event["tid"]: event["args"]["name"] for event in trace["traceEvents"]
            if event["ph"] == "M" and event["name"] == "thread_name"}


def slices(trace):
    """By thread: (begin, end, event)."""
    names, found = thread_names(trace), {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            begin = ns(event["ts"])
            found.setdefault(names[event["tid"]], []).append(
                (begin, begin + ns(event["dur"]), event))
    return found


def case_perfetto_slices(cli):
    for run in RUNS:
        path = record(cli, *run)
        trace, report = perfetto(cli, path), cli.one("report", path, "-o", cli.path("p.html"))
        page = Page(cli.path("p.html"))
        assert trace["displayTimeUnit"] == "ns" and trace["otherData"]["policy"] == run[4]
        found = slices(trace)
        for name, listed in found.items():
            for before, after in zip(listed, listed[1:]):
                assert before[1] <= after[0], (name, before, after)
            assert listed[-1][1] <= page.data["ns"]
        for stream, name in enumerate(("compute", "copy out", "copy in")):
            drawn = [(piece["begin"], piece["end"], piece["work"]) for piece in page.pieces(stream)]
            assert drawn == [(begin, end, event["cat"])
                             for begin, end, event in found.get(name, [])], name
        assert len(found["iterations"]) == report["iterations"] == 3
        assert [[i + 1, begin, end] for i, (begin, end, _) in enumerate(found["iterations"])] == \
            page.data["iterations"]


def case_perfetto_counters_and_instants(cli):
    for run in RUNS:
        path = record(cli, *run)
        trace = perfetto(cli, path)
        cli.run("report", path, "-o", cli.path("p.html"))
        page, state, at = Page(cli.path("p.html")), {}, 0
        left = {}  # what each instant leaves behind
        for event in trace["traceEvents"]:
            if event["ph"] != "C":
                continue
            assert ns(event["ts"]) >= at and event["name"].startswith("memory: ")
            at = ns(event["ts"])
            state[event["name"][8:]] = event["args"]["bytes"]
            left[at] = dict(state)
        drawn = dict(page.memory())
        for at, state in left.items():
            for name, size in state.items():
                assert drawn[at][name] == size, (at, name)
        evicted = [event for event in trace["traceEvents"]
                   if event["ph"] == "i" and event["name"].startswith("evict")]
        assert len(evicted) == sum(count for _, count, _ in page.evictions()) > 0
        assert sum(event["args"]["bytes"] for event in evicted) == \
            sum(size for _, _, size in page.evictions())
        assert {event["args"]["by"] for event in evicted} <= {"drop", "swap"}


def case_perfetto_of_a_run_without_memory(cli):
    trace = perfetto(cli, record(cli, example(cli), "--budget", "2MiB"))
    [instant] = [event for event in trace["traceEvents"] if event["name"] == "out of memory"]
    assert instant["ph"] == "i" and instant["s"] == "p" and instant["args"]["bytes"] == MIB
    assert "iterations" not in slices(trace)


# --- snapshots ------------------------------------------------------------------------------------

def snapshot(cli, run):
    """The pickle's dictionary, which must be that of the JSON file."""
    path, text = cli.path("s.pickle"), cli.path("s.json")
    cli.run("report", run, "--snapshot", path)
    cli.run("report", run, "--snapshot", text)
    with open(path, "rb") as file:
        data = file.read()
    assert {opcode.name for opcode, _, _ in pickletools.genops(data)} <= VIEWER_OPCODES
    found = pickle.loads(data)
    with open(text, encoding="utf-8") as file:
        plain = json.load(file)
    for segment in found["segments"]:
        assert isinstance(segment["segment_pool_id"], tuple)
        segment["segment_pool_id"] = list(segment["segment_pool_id"])
    assert found == plain
    return found


def check_frames(frames):
    for frame in frames:
        assert set(frame) == FRAME and isinstance(frame["line"], int), frame


def check_shape(found):
    """Keys and sums that the viewers rely on; answers the segment and the trace."""
    assert {"segments", "device_traces"} <= set(found)
    [segment], [trace] = found["segments"], found["device_traces"]
    assert set(segment) == SEGMENT, set(segment) ^ SEGMENT
    at = segment["address"]
    for block in segment["blocks"]:
        assert set(block) == BLOCK and block["address"] == at and block["size"] > 0, block
        assert block["state"] in ("active_allocated", "inactive")
        check_frames(block["frames"])
        at += block["size"]
    assert at == segment["address"] + segment["total_size"]
    used = sum(block["size"] for block in segment["blocks"]
               if block["state"] == "active_allocated")
    assert used == segment["active_size"] == segment["allocated_size"] == \
        sum(block["requested_size"] for block in segment["blocks"])
    times = [entry["time_us"] for entry in trace]
    assert times == sorted(times)
    for entry in trace:
        assert ENTRY <= set(entry), entry
        check_frames(entry["frames"])
    # The viewer wants one of the categories to be this one.
    assert "unknown" in {entry.get("category") for entry in trace}
    return segment, trace


def replay_trace(trace, total):
    """Allocations and frees, one by one: no overlap, no free of what is not there."""
    live, requested, peak = {}, {}, 0
    assert (trace[0]["action"], trace[0]["size"]) == ("segment_alloc", total)
    assert trace[-1]["action"] == "snapshot"
    for entry in trace[1:-1]:
        at, size = entry["addr"], entry["size"]
        if entry["action"] == "alloc":
            assert all(at + size <= low or low + more <= at for low, more in live.items()), entry
            live[at] = size
        elif entry["action"] == "free_requested":
            assert live[at] == size
            requested[at] = size
        elif entry["action"] == "free_completed":
            assert requested.pop(at) == live.pop(at) == size
        else:
            assert entry["action"] == "oom" and entry["device_free"] == total - sum(live.values())
        peak = max(peak, sum(live.values()))
    return live, peak


def case_snapshots(cli):
    for run in RUNS:
        path = record(cli, *run)
        segment, trace = check_shape(snapshot(cli, path))
        live, peak = replay_trace(trace, segment["total_size"])
        assert live == {block["address"]: block["size"] for block in segment["blocks"]
                        if block["state"] == "active_allocated"}, "the trace ends in the state"
        report = cli.one("report", path, "-o", cli.path("s.html"))
        assert peak == report["peak_bytes"] <= segment["total_size"]
        assert segment["total_size"] >= report["budget_bytes"]


def case_a_snapshot_at_the_end_of_an_iteration(cli):
    """What lives across iterations is there, what the program lets go of after the last too."""
    trace = Trace()
    weight = trace.const(2 * MIB, persistent=True)
    y = trace.op(3 * MS, [weight], MIB, "forward")
    trace.free(y)
    segment, entries = check_shape(snapshot(
        cli, record(cli, trace.save(cli, "w.trace"), "--iterations", "2")))
    active = [block for block in segment["blocks"] if block["state"] == "active_allocated"]
    assert [block["size"] for block in active] == [2 * MIB]
    assert active[0]["frames"][0]["name"] == "constant"
    placed = [entry for entry in entries if entry["action"] == "alloc"]
    assert [entry["frames"][0]["name"] for entry in placed].count("forward") == 2
    assert {"persistent", "activation"} <= {entry["category"] for entry in placed}


def case_a_snapshot_of_no_memory(cli):
    """The state in which a request failed, not the empty one after it."""
    segment, trace = check_shape(snapshot(cli, record(cli, example(cli), "--budget", "2MiB")))
    ooms = [entry for entry in trace if entry["action"] == "oom"]
    assert [entry["size"] for entry in ooms] == [MIB]
    assert segment["active_size"] > 0
    replay_trace(trace, segment["total_size"])


def case_large_numbers(cli):
    """Addresses and sizes of all widths that a pickle has an opcode for."""
    events, at = [], 0
    for power in (0, 7, 8, 15, 16, 30, 31, 32, 39, 40, 47, 55):
        size = 1 << power
        events.append({"kind": "placed", "value": power + 1, "bytes": size, "offset": at,
                       "device_ns": power, "op": "f", "call": (1 << 62) + power})
        at += size
    events.append({"kind": "mark", "device_ns": 99})
    segment, trace = check_shape(snapshot(cli, write_run(cli, "large.run", events)))
    assert segment["total_size"] == at == segment["active_size"]
    assert [entry["size"] for entry in trace[1:-1]] == [event["bytes"] for event in events[:-1]]
    assert trace[1]["frames"][0]["line"] == 1 << 62


def case_a_long_trace(cli):
    """Over a thousand entries are appended in pieces, as the viewer can take them."""
    events = []
    for i in range(1001):
        for kind in ("placed", "freed"):
            events.append({"kind": kind, "value": i + 1, "bytes": 512, "device_ns": i})
    path = write_run(cli, "many.run", events)
    segment, trace = check_shape(snapshot(cli, path))
    assert len(trace) == 2 + 3 * 1001
    # Without a mark the state is that of the last event.
    assert replay_trace(trace, segment["total_size"])[0] == {}
    with open(cli.path("s.pickle"), "rb") as file:
        names = [opcode.name for opcode, _, _ in pickletools.genops(file.read())]
    since = longest = 0
    for name in names:
        since = 0 if name in ("MARK", "APPENDS") else since + (name == "SETITEMS")
        longest = max(longest, since)
    assert names.count("APPENDS") >= 4 and longest <= 1000


if __name__ == "__main__":
    main(globals())
