#!/usr/bin/env python3
"""cebus explain: each eviction once, with the sums that replay counts.

usage: test_explain.py PROGRAM
"""
import json
import os
import subprocess

from cli import MIB, MS, Trace, example, main

LOGS = os.path.join(os.path.dirname(__file__), "..", "..", "support", "dtr")


def case_one_eviction_by_hand(cli):
    result = cli.one("explain", example(cli), "--budget", "75%", "--policy", "dtr")
    assert (result["evictions"], result["recomputes"], result["recompute_ns"]) == (1, 1, MS)
    assert result["by_op"] == [{"op": "a", "evictions": 1, "bytes": MIB, "never": 0,
                                "recompute": 1, "along": 0, "swap": 0, "cost_ns": MS}]
    [gone] = result["evicted"]
    assert gone["op"] == "a" and gone["value"] == 1 and gone["line"] == 2 and gone["bytes"] == MIB
    # Read by b, which ended 3 ms into the pass; d wanted room at 7 ms.
    assert gone["age_ns"] == 4 * MS and gone["expected_ns"] == MS
    assert gone["for"] == {"line": 5, "op": "d"} and gone["method"] == "recompute"
    assert gone["back"] == "recompute" and gone["back_for"] == {"line": 10, "op": "f"}
    assert gone["cost_ns"] == MS and gone["price"] > 0
    assert gone["next_price"] > gone["price"], "b was the other choice, and dearer"
    assert result["overhead"] == cli.one("replay", example(cli), "--budget", "75%",
                                         "--policy", "dtr")["overhead"]


def case_what_never_comes_back(cli):
    """A value that is let go of while it is away."""
    trace = Trace()
    a = trace.op(MS, [], MIB, "a")
    b = trace.op(2 * MS, [a], MIB, "b")
    c = trace.op(4 * MS, [b], MIB, "c")
    d = trace.op(8 * MS, [c], MIB, "d")
    trace.free(a, b, c, d)
    result = cli.one("explain", trace.save(cli, "gone.trace"), "--budget", "3MiB")
    [gone] = result["evicted"]
    assert gone["back"] == "never" and "back_for" not in gone and gone["cost_ns"] == 0
    assert result["recomputes"] == 0 and result["by_op"][0]["never"] == 1


def case_sums_are_those_of_replay(cli):
    for log in ("chain.log", "mutations.log", "siblings.log", "views.log", "held_at_end.log"):
        for options in (("--policy", "dtr"), ("--policy", "coop"), ("--policy", "lru"),
                        ("--policy", "dtr", "--commodity"), ("--policy", "lru", "--swap", "on")):
            how = (os.path.join(LOGS, log), "--budget", "65%", *options)
            replayed, explained = cli.one("replay", *how), cli.one("explain", *how)
            for key in ("evictions", "recomputes", "recompute_ns", "swapped_bytes", "overhead"):
                assert explained[key] == replayed[key], (log, options, key)
            gone = explained["evicted"]
            assert len(gone) == explained["evictions"]
            assert sorted(one["number"] for one in gone) == list(range(1, len(gone) + 1))
            by_op = explained["by_op"]
            assert sum(op["evictions"] for op in by_op) == len(gone)
            assert sum(op["bytes"] for op in by_op) == sum(one["bytes"] for one in gone)
            for way in ("never", "recompute", "along", "swap"):
                assert sum(op[way] for op in by_op) == sum(one["back"] == way for one in gone)
            if not replayed["feasible"] or "--swap" in options:
                continue
            costs = sum(one["cost_ns"] for one in gone)
            assert costs <= explained["recompute_ns"], "work of a replay is counted once"


def case_swaps(cli):
    trace = Trace()
    batch = trace.const(8 * MIB)
    a = trace.op(10 * MS, [batch], 8 * MIB)
    b = trace.op(10 * MS, [a], 8 * MIB)
    trace.free(a)
    trace.op(10 * MS, [b, batch], 0)
    result = cli.one("explain", trace.save(cli, "batch.trace"), "--budget", "16MiB",
                     "--swap", "on")
    [gone] = result["evicted"]
    assert gone["op"] == "(constant)" and gone["method"] == gone["back"] == "swap"
    assert result["swapped_bytes"] == 16 * MIB
    # There and back over a link of 12 GB/s.
    assert gone["cost_ns"] >= 2 * 8 * MIB * 1000 // 12000


def case_costliest_first_and_top(cli):
    how = ("explain", os.path.join(LOGS, "chain.log"), "--budget", "40%", "--policy", "dtr")
    whole, top = cli.one(*how), cli.one(*how, "--top", "3")
    costs = [one["cost_ns"] for one in whole["evicted"]]
    assert costs == sorted(costs, reverse=True) and len(costs) > 3
    assert top["evicted"] == whole["evicted"][:3] and top["by_op"] == whole["by_op"]
    text = cli.run(*how, "--top", "3").stdout
    assert f"and {len(costs) - 3} more: see --top" in text, text


def case_table(cli):
    text = cli.run("explain", example(cli), "--budget", "75%", "--policy", "dtr").stdout
    assert "1 evictions, 1 recomputes in 1.00 ms, 0 B swapped" in text, text
    rows = [line.split() for line in text.splitlines()]
    assert ["a", "1", "1.00", "MiB", "1", "0", "0", "0", "1.00", "ms"] in rows, text
    [row] = [row for row in rows if row[:2] == ["1", "a"]]
    assert row[2:7] == ["1.00", "MiB", "4.00", "ms", "5"], "bytes, age, for line"
    assert row[8:] == ["recompute", "10", "1.00", "ms"], row
    text = cli.run("explain", example(cli)).stdout
    assert "0 evictions, 0 recomputes" in text, text


def case_a_recorded_run(cli):
    record = cli.path("a.run")
    replayed = cli.one("replay", example(cli), "--budget", "75%", "--policy", "dtr",
                       "--record", record, "--iterations", "2")
    with open(record, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert lines[0] == {"cebus_run": 1, "trace": example(cli), "policy": "dtr",
                        "budget_bytes": 3 * MIB, "machine": "titanv-12g",
                        "base_time_ns": replayed["base_time_ns"], "pass_marks": 1}
    events = lines[1:-1]
    assert lines[-1] == {"kind": "end", "events": len(events)}
    for event in events:
        assert all(value != 0 for value in event.values()), event
        assert "kind" in event and event.keys() <= {
            "kind", "rung", "method", "memory_class", "op", "value", "bytes", "offset", "from",
            "ns", "age_ns", "price", "next_price", "call", "time_ns", "device_ns"}, event
    kinds = [event["kind"] for event in events]
    assert kinds.count("evicted") == 2 * replayed["evictions"]
    assert kinds.count("replayed") == 2 * replayed["recomputes"]
    assert kinds.count("called") == 2 * 7 and kinds.count("mark") == 2
    assert kinds.count("placed") == kinds.count("freed")
    result = cli.one("explain", record)
    assert result["evictions"] == 2 and result["recompute_ns"] == 2 * MS
    assert result["policy"] == "dtr" and result["trace"] == example(cli)
    assert [one["back"] for one in result["evicted"]] == ["recompute"] * 2
    assert "2 evictions" in cli.run("explain", record).stdout


def case_wrong_runs(cli):
    head = {"cebus_run": 1, "trace": "t", "policy": "p", "budget_bytes": 1, "machine": "m"}
    for second, says in (("{", "line 2"), ("[]", "not a JSON object"),
                         ("{}", "kind"), ('{"kind": "end", "events": 2}', "2 events"),
                         ('{"kind": "evicted", "bytes": -1}', "bytes"),
                         ('{"kind": "evicted", "method": 7}', "method"),
                         ('{"kind": "evicted", "age_ns": "1"}', "age_ns"),
                         ('{"kind": "' + "x" * (1 << 20) + '"}', "too long")):
        path = cli.write("wrong.run", json.dumps(head) + "\n" + second + "\n")
        cli.refuses("explain", path, says=["wrong.run", "line 2", says])
    path = cli.write("wrong.run", json.dumps(head) + '\n{"kind": "end"}\n{"kind": "mark"}\n')
    cli.refuses("explain", path, says=["line 3", "after the end"])
    path = cli.write("wrong.run", '{"cebus_run": 1}\n')
    cli.refuses("explain", path, says=["lacks"])
    path = cli.write("wrong.run", '{"cebus_run": 7}\n')
    cli.refuses("explain", path, says=["cebus_run"])


def case_runs_of_another_version(cli):
    """Kinds of events that are not known, or no last line: a warning each."""
    head = {"cebus_run": 1, "trace": "t", "policy": "p", "budget_bytes": 1, "machine": "m"}
    path = cli.write("new.run", json.dumps(head) + '\n{"kind": "exploded", "bytes": "all"}\n')
    done = subprocess.run([cli.program, "explain", path], capture_output=True, check=True,
                          encoding="utf-8", env=cli.environment)
    assert "1 events of kinds" in done.stderr and "cut off" in done.stderr, done.stderr


def case_from_a_pipe(cli):
    """What is read to look at it is gone."""
    how = ("--budget", "75%", "--policy", "dtr")
    with open(example(cli), encoding="utf-8") as file:
        text = file.read()
    for path in ("-", "/dev/stdin"):
        piped = cli.one("explain", path, *how, stdin=text)
        assert piped["evicted"] == cli.one("explain", example(cli), *how)["evicted"], piped


def case_a_recorded_run_had_its_settings(cli):
    record = cli.path("b.run")
    cli.one("replay", example(cli), "--budget", "75%", "--record", record)
    for option, value in (("--budget", "40%"), ("--machine", "p100-16g"), ("--plan", record)):
        cli.refuses("explain", record, option, value, status=64,
                    says=[f"explain: {option}", "recorded run"])
    cli.run("explain", record, variables={"CEBUS_BUDGET": "40%"})


def case_wrong_options(cli):
    for options, says in ((("--policy", "all"), "one at a time"), (("--top", "0"), "--top"),
                          (("--top", "-3"), "--top"), (("--top", "3x"), "--top"),
                          (("more",), "one trace")):
        cli.refuses("explain", example(cli), *options, status=64, says=["cebus explain:", says])
    cli.refuses("explain", status=64, says=["which trace"])


if __name__ == "__main__":
    main(globals())
