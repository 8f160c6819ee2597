#!/usr/bin/env python3
"""cebus report: the page, against the counters of the run it shows and against runs by hand.

usage: test_report.py PROGRAM
"""
import json
import os
import shutil
import subprocess

from cli import MIB, MS, Trace, example, main
from page import LISTED, Page, write_run

LOGS = os.path.join(os.path.dirname(__file__), "..", "..", "support", "dtr")
RUNS = (
    (["--budget", "50%", "--policy", "dtr"], "chain.log"),
    (["--budget", "50%", "--policy", "coop", "--swap", "on"], "mutations.log"),
    (["--budget", "60%", "--policy", "lru", "--commodity"], "siblings.log"),
    (["--budget", "90%", "--policy", "dte"], "views.log"),
    (["--budget", "100%", "--policy", "none"], "held_at_end.log"),
)


def record(cli, trace, *options):
    """What replay says, and what report says of the run it recorded, and the page."""
    run, page = cli.path("a.run"), cli.path("a.html")
    replayed = cli.one("replay", trace, "--record", run, *options)
    return replayed, cli.one("report", run, "-o", page), Page(page)


def rows(page):
    """Rows of the table of iterations: numbers by key; and that of the whole run."""
    table = [{key: number for key, (number, _) in row.items()}
             for row in page.table("iterations")]
    return table[:-1], table[-1]


def case_the_counters_are_the_runs(cli):
    for options, name in RUNS:
        trace = os.path.join(LOGS, name)
        replayed, report, page = record(cli, trace, *options)
        for key in ("trace", "policy", "machine", "time_ns", "overhead", "evictions", "recomputes",
                    "recompute_ns", "swapped_bytes", "peak_bytes"):
            assert report[key] == replayed[key], (name, key, report[key], replayed[key])
        assert report["iterations"] == replayed["iterations"] and report["complete"]
        listed, _ = rows(page)
        assert len(listed) == replayed["iterations"]
        for key in ("time_ns", "evictions", "recomputes", "recompute_ns"):
            assert listed[-1][key] == replayed[key], (name, key)
        assert listed[-1]["out_bytes"] + listed[-1]["in_bytes"] == replayed["swapped_bytes"]
        # Setting up belongs to the first iteration; all others are passes.
        for row, overhead in list(zip(listed, replayed["overhead_per_iteration"]))[1:]:
            assert abs(row["overhead"] - overhead) < 1e-8, (name, row, overhead)
        assert max(row["peak_bytes"] for row in listed) == replayed["peak_bytes"]
        assert page.says(f"{replayed['overhead']:.4f}"), name


def case_time_adds_up(cli):
    """Calls, replays, moves and waits fill the compute stream; waiting for copies is the stall."""
    for options, name in RUNS[:3]:
        replayed, _, page = record(cli, os.path.join(LOGS, name), *options)
        listed, whole = rows(page)
        for row in listed:
            parts = sum(row[key] for key in ("call_ns", "recompute_ns", "wait_ns", "move_ns"))
            assert parts <= row["time_ns"], row
        if listed[-1]["moved_bytes"] == 0:
            assert listed[-1]["wait_ns"] == replayed["stall_ns"], name
        for key in ("call_ns", "recompute_ns", "evictions", "in_bytes", "moved_bytes"):
            assert sum(row[key] for row in listed) == whole[key], (name, key)


def case_regenerations_add_up(cli):
    for options, name in RUNS[:3]:
        _, report, page = record(cli, os.path.join(LOGS, name), *options)
        _, whole = rows(page)
        table = page.table("regenerations")
        assert len(table) == min(report["evicted_values"], LISTED) > 0
        assert sum(row["evictions"][0] for row in table) == whole["evictions"], name
        assert sum(row["recompute_ns"][0] for row in table) == whole["recompute_ns"], name
        costs = [row["cost_ns"][0] for row in table]
        assert costs == sorted(costs, reverse=True)
        for row in table:
            assert row["cost_ns"][0] == row["recompute_ns"][0] + row["copy_ns"][0]


def case_one_eviction_by_hand(cli):
    """The example: `a` goes when the fourth op needs room, and is made again for the sixth."""
    _, report, page = record(cli, example(cli), "--budget", "75%", "--policy", "dtr",
                             "--iterations", "1")
    assert (report["evictions"], report["recomputes"], report["ooms"]) == (1, 1, 0)
    [row] = page.table("regenerations")
    assert row["op"][1] == "a" and row["bytes"][0] == MIB and row["evictions"][0] == 1
    assert row["back"][1] == "recomputed" and row["cost_ns"] == (MS, "1.00 ms")
    work = [(piece["work"], piece["op"], piece["end"] - piece["begin"])
            for piece in page.pieces(0)]
    assert work == [("call", "a", MS), ("call", "b", 2 * MS), ("call", "c", 4 * MS),
                    ("call", "d", 8 * MS), ("call", "e", 16 * MS), ("replay", "a", MS),
                    ("call", "f", 32 * MS), ("call", "end of pass", 1)][:len(work)], work
    assert len(work) >= 7 and page.pieces(1) == page.pieces(2) == []
    assert page.evictions() == [(7 * MS, 1, MIB)]
    ends = {block["op"]: block["end"] for block in page.blocks()}
    assert ends["b"] == 31 * MS and ends["d"] == 31 * MS, ends
    assert page.data["budgets"] == [[0, 3 * MIB]]
    assert page.data["iterations"][0][:2] == [1, 0]


def check_drawing(page, report):
    """Where all is drawn one by one: blocks fill what memory says, nothing overlaps."""
    points, blocks, end = page.memory(), page.blocks(), page.data["ns"]
    assert max(sum(state.values()) for _, state in points) == report["peak_bytes"]
    filled = dict.fromkeys(page.data["classes"], 0)
    for (at, state), (until, _) in zip(points, [*points[1:], (end, None)]):
        for name, size in state.items():
            filled[name] += size * (until - at)
    for block in blocks:
        filled[block["kind"]] -= block["size"] * (block["end"] - block["begin"])
        assert block["low"] + block["size"] <= page.data["map"]["top"] * page.data["unit"]
    assert all(rest == 0 for rest in filled.values()), filled
    for a in blocks[:200]:
        for b in blocks:
            assert (a is b or a["end"] <= b["begin"] or b["end"] <= a["begin"] or
                    a["low"] + a["size"] <= b["low"] or b["low"] + b["size"] <= a["low"]), (a, b)


def case_all_that_is_drawn_adds_up(cli):
    for options, name in RUNS:
        _, report, page = record(cli, os.path.join(LOGS, name), *options)
        check_drawing(page, report)
        _, whole = rows(page)
        sums = dict.fromkeys(page.data["works"], 0)
        for stream in range(3):
            now = 0
            for piece in page.pieces(stream):
                assert now <= piece["begin"] <= piece["end"] <= page.data["ns"]
                now = piece["end"]
                sums[piece["work"]] += piece["end"] - piece["begin"]
        for work, key in (("call", "call_ns"), ("replay", "recompute_ns"), ("move", "move_ns"),
                          ("wait", "wait_ns")):
            assert sums[work] == whole[key], (name, work)
        assert sum(count for _, count, _ in page.evictions()) == whole["evictions"]


def case_classes_and_moves(cli):
    """Constants of a step are persistent from the first byte; a workspace has its op's name."""
    trace = Trace()
    weight = trace.const(2 * MIB, persistent=True)
    y = trace.op(3 * MS, [weight], MIB, "forward", workspace=2 * MIB)
    trace.op(MS, [y], 0)
    _, report, page = record(cli, trace.save(cli, "step.trace"), "--iterations", "2")
    check_drawing(page, report)
    kinds = {(block["kind"], block["op"]) for block in page.blocks()}
    assert ("workspace", "forward") in kinds and ("activation", "forward") in kinds, kinds
    assert ("persistent", "constant") in kinds and ("activation", "constant") not in kinds, kinds
    assert any(block["moved"] for block in page.blocks()), "down to its place for good"
    assert page.data["map"]["moves"] == page.data["map"]["all_moves"] == 1
    assert report["peak_bytes"] == 5 * MIB


def case_copies(cli):
    """A batch that only a copy brings back."""
    trace = Trace()
    batch = trace.const(8 * MIB)
    a = trace.op(10 * MS, [batch], 8 * MIB, "a")
    b = trace.op(10 * MS, [a], 8 * MIB, "b")
    trace.free(a)
    trace.op(10 * MS, [b, batch], 0, "c")
    replayed, report, page = record(cli, trace.save(cli, "batch.trace"), "--budget", "16MiB",
                                    "--swap", "on", "--iterations", "1")
    [out], [back] = page.pieces(1), page.pieces(2)
    assert (out["work"], back["work"]) == ("copy out", "copy in")
    assert out["bytes"] == back["bytes"] == 8 * MIB and out["value"] == back["value"]
    assert out["end"] <= back["end"] <= page.data["ns"]
    assert report["swapped_bytes"] == 16 * MIB and report["wait_ns"] == replayed["stall_ns"] > 0
    [row] = page.table("regenerations")
    assert row["back"][1] == "copied back" and row["copy_ns"][0] > 0 and row["bytes"][0] == 8 * MIB
    check_drawing(page, report)


def case_a_page_alone(cli):
    """Well formed (Page sees to it), and nothing comes from elsewhere."""
    _, _, page = record(cli, os.path.join(LOGS, "chain.log"), "--budget", "50%")
    assert "http://" not in page.text and "https://" not in page.text
    assert page.text.startswith("<!DOCTYPE html>")
    for tag, given in page.tags:
        assert "src" not in given and tag not in ("iframe", "img", "object", "embed"), (tag, given)
        assert given.get("href", "data:,").startswith("data:"), given
        assert not any(name.startswith("on") for name in given), given
    policy = next(given["content"] for tag, given in page.tags
                  if tag == "meta" and "http-equiv" in given)
    assert "default-src 'none'" in policy
    for name in ("memory-chart", "map-chart", "streams-chart", "data", "tip", "shown"):
        assert name in page.ids, name
    assert sum(tag == "canvas" and "aria-label" in given for tag, given in page.tags) == 3
    assert "prefers-color-scheme: dark" in page.text


def case_hostile_names(cli):
    odd = '</script><script>alert("1")</script>&amp;\u2028\u00e9\\ "x"'
    trace = Trace()
    a = trace.op(MS, [], MIB, odd)
    b = trace.op(MS, [a], MIB, "x" * 5000)
    c = trace.op(MS, [b], MIB, "c")
    trace.free(b)
    trace.op(MS, [c, a], 0)
    _, _, page = record(cli, trace.save(cli, "<b>&.trace"), "--budget", "2MiB", "--commodity",
                        "--policy", "lru", "--iterations", "1")
    assert odd in page.data["names"] and page.text.count("<script") == 2
    assert page.says("<b>&.trace")
    assert any(name.endswith("...") and len(name) <= 160 for name in page.data["names"])
    assert all(len(name) <= 160 for name in page.data["names"])
    made_by = [row["op"][1] for row in page.table("regenerations")]
    assert made_by == [odd], made_by


def case_out_of_memory(cli):
    replayed, report, page = record(cli, example(cli), "--budget", "2MiB", "--iterations", "1")
    assert not replayed["feasible"] and report["ooms"] == 1 and report["overhead"] is None
    assert page.says("Out of memory: ") and page.says("no iteration ended")
    assert len(page.data["ooms"]) == 1 and page.data["ooms"][0][1] == MIB
    assert [row["iteration"][1] for row in page.table("iterations")] == ["unfinished 1", "all"]


def case_nothing_happened(cli):
    """A budget below every block: no event at all."""
    _, report, page = record(cli, example(cli), "--budget", "0.05%")
    assert report["events"] == 0 and page.data["ns"] == 0 and page.memory() == []


def case_a_mark_that_is_no_pass(cli):
    """Two marks a pass: its time is none of theirs, so each is held against its own calls."""
    trace = Trace()
    for _ in range(2):
        trace.free(trace.op(MS, [], MIB))
        trace.mark()
    _, report, page = record(cli, trace.save(cli, "marks.trace"), "--iterations", "2")
    assert report["iterations"] == 4 and report["overhead"] == 1
    assert [round(row["overhead"][0], 9) for row in page.table("iterations")][1:4] == [1] * 3


def long_run(cli, name, rounds):
    """A run of many short calls, each with a block that the call after it needs; one peak."""
    events, now, size = [], 0, 512
    for i in range(rounds):
        at = (i % 8) * size
        if i >= 8:
            events.append({"kind": "freed", "value": i - 7, "bytes": size, "offset": at,
                           "device_ns": now})
        events.append({"kind": "placed", "op": f"op{i % 40}", "value": i + 1, "bytes": size,
                       "offset": at, "device_ns": now})
        if i == rounds // 3:
            events += [{"kind": kind, "value": 1 << 40, "bytes": 1 << 19, "offset": 1 << 19,
                        "device_ns": now} for kind in ("placed", "freed")]
        now += 100 + i % 7
        events.append({"kind": "called", "op": f"op{i % 40}", "ns": 90, "call": i + 1,
                       "device_ns": now})
    events.append({"kind": "mark", "device_ns": now})
    return write_run(cli, name, events), now


def case_a_long_run_makes_a_short_page(cli):
    """What is too small to be seen is summed up, and nothing is lost of the sums."""
    rounds = 60000
    path, now = long_run(cli, "long.run", rounds)
    report = cli.one("report", path, "-o", cli.path("long.html"))
    page = Page(cli.path("long.html"))
    assert len(page.text) < 5 * 1000 * 1000, len(page.text)
    assert report["events"] == 3 * rounds - 5 and report["calls"] == rounds
    assert report["time_ns"] == now == page.data["ns"]
    data = page.data
    assert data["map"]["total"] == rounds + 1 and data["map"]["listed"] < 41000
    assert len(data["map"]["cells"]) > 100
    assert data["memory"]["points"] < 6000 < data["memory"]["changes"]
    assert max(sum(state.values()) for _, state in page.memory()) == report["peak_bytes"]
    assert report["peak_bytes"] == (1 << 19) + 8 * 512, "an instant long, and there"
    pieces = page.pieces(0)
    assert len(pieces) < 20000 and any(piece["many"] for piece in pieces)
    singles = sum(not piece["many"] for piece in pieces)
    assert singles + sum(piece["value"] for piece in pieces if piece["many"]) == \
        data["streams"][0]["total"]
    busy = sum(piece["bytes"] for piece in pieces if piece["many"])
    busy += sum(piece["end"] - piece["begin"] for piece in pieces
                if not piece["many"] and piece["work"] != "wait")
    assert busy == 90 * rounds
    for before, after in zip(pieces, pieces[1:]):
        assert before["end"] <= after["begin"]


def case_a_clock_that_began_long_ago(cli):
    """A device's clock need not begin at 0."""
    start = 10 ** 18
    events = [{"kind": "placed", "value": 1, "bytes": 512, "device_ns": start},
              {"kind": "called", "op": "f", "ns": 50, "device_ns": start + 50},
              {"kind": "freed", "value": 1, "bytes": 512, "device_ns": start + 80},
              {"kind": "mark", "device_ns": start + 80}]
    report = cli.one("report", write_run(cli, "late.run", events), "-o", cli.path("late.html"))
    page = Page(cli.path("late.html"))
    assert report["time_ns"] == 80 == page.data["ns"] and report["wait_ns"] == 0
    assert [(b["begin"], b["end"]) for b in page.blocks()] == [(0, 80)]


def case_a_budget_that_changes(cli):
    events = [{"kind": "placed", "value": 1, "bytes": 512, "device_ns": 0},
              {"kind": "called", "op": "f", "ns": 50, "device_ns": 50},
              {"kind": "budget", "bytes": 4096, "device_ns": 50},
              {"kind": "called", "op": "f", "ns": 50, "device_ns": 100}]
    cli.run("report", write_run(cli, "b.run", events), "-o", cli.path("b.html"))
    page = Page(cli.path("b.html"))
    assert page.data["budgets"] == [[0, 1 << 20], [50, 4096]]
    assert page.says("4.00 KiB") and page.says("after changes")


TRY = """<script>
const said = [];
function at(id, type, x, y) {
  const canvas = document.getElementById(id), box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new PointerEvent(type, {clientX: box.left + x, clientY: box.top + y,
                                               pointerId: 1}));
}
Element.prototype.setPointerCapture = () => {};
for (const id of ['memory-chart', 'map-chart', 'streams-chart']) {
  at(id, 'pointermove', 400, 30);
  said.push([id, tip.textContent]);
}
at('map-chart', 'pointerdown', 300, 100);
at('map-chart', 'pointermove', 500, 100);
at('map-chart', 'pointerup', 500, 100);
said.push(['dragged', view.from > 0 && view.to < run.ns]);
document.getElementById('map-chart').dispatchEvent(new KeyboardEvent('keydown', {key: '0'}));
said.push(['whole', view.from === 0 && view.to === run.ns]);
const before = [...document.querySelectorAll('#regenerations tbody tr')].length;
document.querySelector('#regenerations th[data-key=value] button').click();
const first = Number(document.querySelector('#regenerations tbody td').dataset.value);
said.push(['sorted', before, first]);
const g = document.getElementById('map-chart').getContext('2d');
const pixels = g.getImageData(0, 0, 600, 300).data;
said.push(['colours', new Set(new Uint32Array(pixels.buffer)).size]);
document.documentElement.dataset.said = JSON.stringify(said);
</script></body>"""


def browse(browser, cli, name):
    """The page's DOM once its script has run, and what the browser has to say."""
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--user-data-dir=" + cli.path("browser"), "--window-size=1300,2000",
         "--virtual-time-budget=10000", "--enable-logging=stderr", "--dump-dom",
         "file://" + cli.path(name)], capture_output=True, check=False, encoding="utf-8",
        errors="replace", timeout=200, env=dict(cli.environment, HOME=cli.folder))
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def case_a_browser_shows_it(cli):
    found = [shutil.which(name) for name in ("chromium", "google-chrome", "chromium-browser")]
    browser = next((name for name in found if name), None)
    if browser is None:
        return "there is no chromium"
    _, _, page = record(cli, os.path.join(LOGS, "chain.log"), "--budget", "50%", "--policy", "dtr")
    cli.write("tried.html", page.text.replace("</body>", TRY))
    dom, console = browse(browser, cli, "tried.html")
    assert console == [], console
    assert 'data-ready="3"' in dom, dom[:300]
    said = dict(attribute(dom, "data-said"))
    assert "in use" in said["memory-chart"] and "address" in said["map-chart"], said
    assert "call" in said["streams-chart"] or "replay" in said["streams-chart"], said
    assert said["dragged"] is True and said["whole"] is True
    assert said["colours"] > 3, "the map was drawn"
    return None


def attribute(dom, name):
    """[[key, value...], ...] of an attribute in JSON, as pairs."""
    text = dom.split(name + '="', 1)[1].split('"', 1)[0].replace("&quot;", '"')
    return [(said[0], said[1]) for said in json.loads(text.replace("&amp;", "&"))]


if __name__ == "__main__":
    main(globals())
