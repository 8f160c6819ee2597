#!/usr/bin/env python3
"""cebus plan and replay --plan: what a policy plans, kept and followed again.

usage: test_plan.py PROGRAM
"""
import json
import os

from cli import HOST_TIMES, MIB, Trace, main


def network(depth=12):
    """A chain forward, and its gradients back."""
    trace = Trace()
    maps = [trace.const(4 * MIB)]
    for _ in range(depth):
        maps.append(trace.op(400000, [maps[-1]], 4 * MIB, name="layer"))
    gradient = trace.op(100000, [maps[-1]], 4 * MIB, name="loss")
    trace.free(maps[-1])
    for i in reversed(range(depth)):
        new = trace.op(800000, [gradient, maps[i]], 4 * MIB, name="layer_backward")
        trace.free(gradient)
        trace.free(maps[i])
        gradient = new
    trace.free(gradient)
    trace.mark()
    return trace


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def figures(run):
    """What repeats of a run that asks for the same in other words."""
    return {key: value for key, value in run.items()
            if key not in HOST_TIMES + ("machine", "budget", "swap", "learn", "plans_used")}


def case_a_plan_is_followed_again(cli):
    trace = network().save(cli, "net.jsonl")
    for planner in ("cebus", "capuchin", "odswap", "sublinear"):
        plan = cli.path(planner + ".plan")
        made = cli.one("plan", trace, "--planner", planner, "--budget", "50%", "-o", plan,
                       "--learn", "budget")
        run = cli.one("replay", trace, "--plan", plan)
        assert made["feasible"] and made["plans_used"] == 0, made
        assert run["plans_used"] >= 1 and run["plans_refused"] == 0, run
        assert run["policy"] == planner and run["budget_bytes"] == made["budget_bytes"], run
        assert figures(run) == figures(made), (run, made)


def case_many_small_values_have_room_to_be_learned_in(cli):
    """A value takes a block of 512 bytes, however small it is."""
    trace = Trace()
    values = [trace.op(1000, [], 4) for _ in range(100)]
    values.append(trace.op(1000, values, 4))
    for value in values:
        trace.free(value)
    path = trace.save(cli, "small.jsonl")
    made = cli.one("plan", path, "--budget", "60KiB", "-o", cli.path("small.plan"))
    assert made["feasible"], made


def case_a_plan_is_learned_in_ample_memory(cli):
    """Two passes of that kind before the others; its plan is for the budget all the same."""
    trace = network().save(cli, "net.jsonl")
    plan = cli.path("p.plan")
    made = cli.one("plan", trace, "--budget", "40%", "-o", plan, "--iterations", "1")
    assert made["learn"] == "ample" and made["planned_replays"] > 0, made
    assert made["peak_bytes"] <= made["budget_bytes"], made
    head, *_ = read(plan)
    assert head["budget"] == made["budget_bytes"], head
    run = cli.one("replay", trace, "--plan", plan)
    assert run["plans_used"] >= 1 and run["overhead"] == made["overhead"], (run, made)


def case_the_file_is_json_lines(cli):
    trace = network().save(cli, "net.jsonl")
    plan = cli.path("p.plan")
    cli.run("plan", trace, "--budget", "50%", "--swap", "on", "--machine", "p100-16g", "-o", plan)
    head, *rest = read(plan)
    assert head["policy"] == "cebus" and head["swap"] == "on" and "p100-16g" in head["device"], head
    plans = [line for line in rest if "plan" in line]
    assert len(plans) == head["plans"] and len(rest) == sum(1 + p["actions"] for p in plans), rest
    assert all(p["budget"] <= head["budget"] for p in plans), plans
    run = cli.one("replay", trace, "--plan", plan)
    assert run["swap"] == "on" and "p100-16g" in run["machine"], run
    assert run["plans_used"] >= 1 and run["swapped_bytes"] > 0, run


def case_options_win(cli):
    trace = network().save(cli, "net.jsonl")
    plan = cli.path("p.plan")
    cli.run("plan", trace, "--budget", "50%", "-o", plan)
    run = cli.one("replay", trace, "--plan", plan, "--budget", "45%")
    alone = cli.one("replay", trace, "--policy", "cebus", "--budget", "45%")
    assert run["plans_used"] == 0 and run["plans_refused"] >= 1, run
    assert run["overhead"] == alone["overhead"], (run, alone)
    run = cli.one("replay", trace, "--plan", plan, "--policy", "lru")
    assert run["policy"] == "lru" and run["plans_used"] + run["plans_refused"] == 0, run


def case_another_trace(cli):
    plan = cli.path("p.plan")
    cli.run("plan", network().save(cli, "net.jsonl"), "--budget", "50%", "-o", plan)
    run = cli.one("replay", network(9).save(cli, "other.jsonl"), "--plan", plan)
    assert run["plans_used"] + run["plans_refused"] == 0, run


def case_events_can_be_recorded(cli):
    trace = network().save(cli, "net.jsonl")
    plan, record = cli.path("p.plan"), cli.path("p.run")
    cli.run("plan", trace, "--budget", "50%", "-o", plan)
    cli.run("replay", trace, "--plan", plan, "--budget", "45%", "--record", record)
    refused = [line for line in read(record) if line.get("kind") == "plan_refused"]
    assert len(refused) >= 1 and "more memory" in refused[0]["op"], refused
    cli.run("report", record, "-o", cli.path("p.html"))


def case_explain_holds_the_plan_against_what_happened(cli):
    trace = network().save(cli, "net.jsonl")
    plan = cli.path("p.plan")
    cli.run("plan", trace, "--budget", "50%", "--swap", "on", "--machine", "p100-16g", "-o", plan)
    actions = [line for line in read(plan)[1:] if "plan" not in line]
    told = cli.one("explain", trace, "--plan", plan, "--iterations", "5")
    for kind, count in told["planned"].items():
        assert count == sum(kind in action for action in actions), (kind, told["planned"])
    assert told["happened"]["swap_outs"] == told["planned"]["swap_out"] > 0, told
    assert told["happened"]["swap_ins"] == told["planned"]["swap_in"], told
    assert told["happened"]["recomputes"] <= told["planned"]["replay"], told
    assert told["happened"]["unforeseen"] == 0, told
    assert abs(told["guided_predicted_ns"] / told["guided_measured_ns"] - 1) < 0.05, told
    text = cli.run("explain", trace, "--plan", plan, "--iterations", "5").stdout
    assert "planned   happened" in text and "policy cebus: budget" in text, text
    text = cli.run("explain", trace, "--plan", plan, "--budget", "40%").stdout
    assert "the plan was not followed: it does not fit" in text, text


def case_plans_are_read_from_files(cli):
    """A plan of `cebus advise' may come from a pipe: it is read once."""
    trace = network().save(cli, "net.jsonl")
    plan = cli.path("piped.plan")
    cli.run("plan", trace, "--budget", "50%", "-o", plan)
    with open(plan, encoding="utf-8") as file:
        text = file.read()
    for path in ("-", "/dev/stdin"):
        cli.refuses("replay", trace, "--plan", path, stdin=text,
                    says=["one of `cebus plan' is read several times, so give it as a file"])
        cli.refuses("explain", trace, "--plan", path, stdin=text, says=["is not a file: plans"])
    for command in ("replay", "explain"):
        cli.refuses(command, trace, "--plan", cli.path("none"), says=["No such file"])


def case_wrong_is_said(cli):
    trace = network().save(cli, "net.jsonl")
    plan = cli.path("p.plan")
    cli.run("plan", trace, "--budget", "50%", "-o", plan)
    with open(plan, encoding="utf-8") as file:
        lines = file.read().splitlines(keepends=True)
    cli.refuses("replay", trace, "--plan", cli.write("cut", "".join(lines[:-1])),
                says=["cut:%d:" % (len(lines) - 1), "an action must follow"])
    cli.refuses("replay", trace, "--plan", cli.write("far", "".join(
        lines[:-1] + ['{"drop": 999999, "at": 1}\n'])), says=['"drop" is 999999'])
    cli.refuses("replay", trace, "--plan", cli.write("machine", lines[0].replace(
        "titanv-12g", "titanic-1g")), says=["no machine"])
    cli.refuses("plan", trace, "-o", plan, "--planner", "lru", says=["makes no plans"])
    cli.refuses("plan", trace, "-o", plan, "--iterations", "1", "--learn", "budget",
                says=["nothing is planned yet"])
    cli.refuses("plan", trace, "-o", "/nonexistent/p", says=["cannot create"])
    for more in ((), ("--json",)):
        small = cli.refuses("plan", trace, "-o", cli.path("small"), "--budget", "4KiB", *more,
                            status=2, says=["small: no plan was written", "does not fit"])
        assert "feasible" in small.stdout and not os.path.exists(cli.path("small"))
    cli.refuses("plan", trace, status=64, says=["Name a file with -o"])
    cli.refuses("plan", "-o", plan, status=64, says=["which trace?"])
    cli.refuses("plan", trace, "-o", plan, "--planner", "all", status=64, says=["one at a time"])
    cli.refuses("plan", trace, "-o", plan, "--planner", "x", status=64, says=["no policy"])


if __name__ == "__main__":
    main(globals())
