#!/usr/bin/env python3
"""cebus advise and replay --plan: plans that hold, repeat and are refused when they are not.

usage: test_advise.py PROGRAM
"""
import glob
import json
import os

from cli import main, stable

MIB = 1 << 20
MACHINE = ("--machine", "v100-16g")


def network(depth=12):
    """A network that trains: layer i makes x[i + 1] of x[i] and w[i]; back it makes gradients."""
    lines = ['{"cebus_trace": 1, "machine": "cpu", "unit": "ns"}']
    count = 0

    def op(name, inputs, outputs, cost, flags=()):
        nonlocal count
        count += 1
        made = [{"value": value, "bytes": MIB * size} | ({} if alias is None else
                {"alias_of": alias}) for value, size, alias in outputs]
        lines.append(json.dumps({"op": count, "name": name, "in": inputs, "out": made,
                                 "cost_ns": cost, "flags": list(flags)}))

    weight = [100 + i for i in range(depth)]
    lines.extend(json.dumps({"const": w, "bytes": MIB, "persistent": True}) for w in weight)
    lines.append(json.dumps({"const": 1, "bytes": 4 * MIB}))
    for i in range(depth):
        op("linear", [i + 1, weight[i]], [(i + 2, 4, None)], 400000)
    op("loss", [depth + 1], [(300, 4, None)], 100000)
    lines.append(json.dumps({"free": depth + 1}))
    gradient = 300
    for i in reversed(range(depth)):
        op("linear_backward", [gradient, i + 1, weight[i]],
           [(400 + i, 4, None), (500 + i, 1, None)], 800000)
        lines.extend(json.dumps({"free": value}) for value in (gradient, i + 1))
        op("step", [weight[i], 500 + i], [(weight[i], 1, 0)], 10000, ["mutates"])
        lines.append(json.dumps({"free": 500 + i}))
        gradient = 400 + i
    lines.append(json.dumps({"free": gradient}))
    lines.append('{"mark": 1}')
    return "\n".join(lines) + "\n"


def case_fits_and_holds(cli):
    trace = cli.write("net.jsonl", network())
    plan = cli.path("plan.json")
    found = cli.one("advise", trace, *MACHINE, "--memory", "24MiB", "--steps", "5", "-o", plan)
    assert found["height"] <= 24 * MIB and found["copies"] > 0, found
    assert found["time_ns"] >= found["ideal_ns"], found
    run = cli.one("replay", trace, "--plan", plan)
    with open(plan, encoding="utf-8") as file:
        piped = cli.one("replay", trace, "--plan", "/dev/stdin", stdin=file.read())
    assert stable(piped) == stable(run), (piped, run)
    assert abs(run["time_ns"] / found["time_ns"] - 1) < 0.02, (run, found)
    assert run["memory"] == 24 * MIB and run["machine"] == "v100-16g", run
    assert run["peak_bytes"] <= 24 * MIB and run["missed_placements"] == 0, run
    assert run["swap_ins"] > 0, run
    paper = cli.one("replay", trace, "--plan", plan, "--check")
    assert paper["time_ns"] == run["paper_ns"] == found["time_ns"], (paper, run)
    assert "peak_bytes" not in paper, paper
    assert "throughput" in cli.run("replay", trace, "--plan", plan).stdout


def case_what_no_call_reads_is_in_nobodys_way(cli):
    unread = json.dumps({"const": 900, "bytes": 2 * MIB, "persistent": True})
    lines = network().splitlines()
    trace = cli.write("unread.jsonl", "\n".join([lines[0], unread, *lines[1:]]) + "\n")
    plan = cli.path("unread.json")
    cli.run("advise", trace, *MACHINE, "--memory", "26MiB", "--steps", "3", "-o", plan)
    run = cli.one("replay", trace, "--plan", plan)
    assert abs(run["time_ns"] / run["paper_ns"] - 1) < 0.02 and run["missed_placements"] == 0, run


def case_logs_by_hand(cli):
    """Calls that only make views, constants of no bytes, what is written over: all of it runs."""
    logs = glob.glob(os.path.join(os.path.dirname(__file__), "..", "..", "support", "dtr", "*.log"))
    assert len(logs) >= 7, logs
    plan = cli.path("log.json")
    for log in sorted(logs):
        for option in (), ("--fix-schedule",), ("--published",):
            found = cli.one("advise", log, *MACHINE, "--steps", "1", *option, "-o", plan)
            run = cli.one("replay", log, "--plan", plan)
            assert abs(run["time_ns"] / found["time_ns"] - 1) < 0.02, (log, run, found)
            assert run["missed_placements"] == 0, (log, run)


def case_all_memory_is_ideal(cli):
    trace = cli.write("all.jsonl", network())
    found = cli.one("advise", trace, *MACHINE, "--memory", "1GiB", "--steps", "0")
    assert found["ideal_ns"] <= found["time_ns"] < 1.6 * found["ideal_ns"], found


def case_repeats(cli):
    trace = cli.write("twice.jsonl", network())
    plans = []
    for threads in "1", "2":
        cli.run("advise", trace, *MACHINE, "--memory", "20MiB", "--steps", "4", "--seed", "5",
                "--threads", threads, "-o", cli.path("plan" + threads))
        with open(cli.path("plan" + threads), encoding="utf-8") as file:
            plans.append(file.read())
    assert plans[0] == plans[1]


def case_order_and_published(cli):
    trace = cli.write("order.jsonl", network())
    for option in "--fix-schedule", "--published":
        plan = cli.path("plan.json")
        cli.run("advise", trace, *MACHINE, "--memory", "24MiB", "--steps", "2", option, "-o", plan)
        cli.run("replay", trace, "--plan", plan)
        with open(plan, encoding="utf-8") as file:
            steps = json.load(file)["steps"]
        calls = [call for call, again in steps if not again]
        assert sorted(calls) == list(range(len(calls))), calls
        assert option != "--fix-schedule" or calls == sorted(calls), calls
        assert option != "--published" or len(calls) == len(steps), steps


def case_plot_and_limit(cli):
    trace = cli.write("plot.jsonl", network(6))
    cli.run("advise", trace, *MACHINE, "--memory", "40MiB", "--time-limit", "0.05", "--svg",
            cli.path("plot.svg"))
    with open(cli.path("plot.svg"), encoding="utf-8") as file:
        assert "<svg" in file.read()


def case_wrong_requests(cli):
    trace = cli.write("wrong.jsonl", network())
    cli.refuses("advise", trace, says=["--machine"], status=64)
    cli.refuses("advise", *MACHINE, says=["which trace"], status=64)
    cli.refuses("advise", trace, *MACHINE, "--time-limit", "0", says=["above 0"], status=64)
    cli.refuses("advise", trace, *MACHINE, "--steps", "-1", says=["whole number"], status=64)
    cli.refuses("advise", trace, *MACHINE, "--threads", "4294967296", says=["whole number"],
                status=64)
    cli.refuses("advise", trace, "--machine", "abacus", says=["no machine"])
    cli.refuses("advise", trace, *MACHINE, "--memory", "much", says=["--memory"])
    cli.refuses("advise", trace, *MACHINE, "--memory", "8MiB", "--steps", "0", status=2,
                says=["linear_backward alone needs 14.00 MiB", "line "])
    cli.refuses("advise", cli.path("none"), *MACHINE, says=["none"])


def spoilt(cli, plan, change):
    with open(plan, encoding="utf-8") as file:
        root = json.load(file)
    change(root)
    return cli.write("spoilt.json", json.dumps(root))


def waits_for_itself(root):
    """A copy in may start only after the step that waits for it."""
    copy = next(c for c in root["copies"] if c[1] and c[3] < len(root["steps"]))
    copy[2] = copy[3] + 1


def case_wrong_plans(cli):
    trace = cli.write("a.jsonl", network())
    other = cli.write("b.jsonl", network(11))
    plan = cli.path("a.json")
    cli.run("advise", trace, *MACHINE, "--memory", "24MiB", "--steps", "0", "-o", plan)
    cli.refuses("replay", other, "--plan", plan, says=["a plan for another trace"])
    cli.refuses("replay", trace, "--plan", trace, says=["no plan", "line 2"])
    cli.refuses("replay", trace, "--plan", cli.path("none"), says=["none"])
    cli.refuses("replay", trace, "--plan", plan, "--record", cli.path("r"), status=64,
                says=["--record"])
    cli.refuses("replay", trace, "--check", status=64, says=["--check"])
    for option in (("--budget", "40%"), ("--policy", "lru"), ("--machine", "p100-16g")):
        cli.refuses("replay", trace, "--plan", plan, *option, status=64,
                    says=[option[0], "its own memory"])
    cli.refuses("replay", trace, "--plan", cli.path("none"), "--budget", "40%", says=["none"])
    changes = [
        (lambda root: root.pop("cebus_plan"), "no plan"),
        (lambda root: root.update(machine=7), "machine"),
        (lambda root: root.update(memory=-1), "memory"),
        (lambda root: root.update(steps=7), "steps"),
        (lambda root: root["steps"].append([1]), "no row"),
        (lambda root: root["steps"].append([999, 0]), "does not hold"),
        (lambda root: root["steps"].reverse(), "does not hold"),
        (lambda root: root["steps"].pop(), "does not hold"),
        (lambda root: root["copies"].clear(), "does not hold"),
        (lambda root: root["blocks"].clear(), "does not hold"),
        (waits_for_itself, "it comes to a halt at step"),
        (lambda root: root.update(program="0" * 16), "a plan for another trace"),
        (lambda root: root["blocks"][0].__setitem__(1, 1 << 62), "above the memory"),
        (lambda root: root["blocks"][0].__setitem__(3, 9), "no row"),
    ]
    for change, says in changes:
        cli.refuses("replay", trace, "--plan", spoilt(cli, plan, change), says=[says])


if __name__ == "__main__":
    main(globals())
