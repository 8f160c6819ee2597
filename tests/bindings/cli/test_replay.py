#!/usr/bin/env python3
"""cebus replay: results that can be worked out by hand.

usage: test_replay.py PROGRAM
"""
import json
import os

from cli import END_NS, MIB, MS, Trace, example, main, stable

POLICIES = ("none", "lru", "dtr", "dtr-local", "dte", "coop")
KEYS = {
    "trace", "machine", "policy", "layout", "swap", "budget", "budget_bytes", "iterations",
    "marks", "learn", "iterations_known", "iterations_repeated",
    "feasible", "reason", "oom", "overhead", "overhead_per_iteration", "compute_overhead",
    "time_ns", "base_time_ns", "peak_bytes", "base_peak_bytes", "floor_bytes", "calls",
    "evictions", "recomputes", "recompute_ns", "planned_replays", "planned_placements",
    "missed_placements", "swapped_bytes", "stall_ns", "fragmentation_mean",
    "fragmentation_max", "stranded_bytes_max", "search_ns_mean", "host_ns_per_call",
    "guided_iterations", "guided_predicted_ns", "guided_measured_ns", "guided_lost_ns",
    "guided_actions", "guided_missed", "guided_unforeseen", "replans", "plan", "plans_used",
    "plans_refused",
}
DTR_LOGS = os.path.join(os.path.dirname(__file__), "..", "..", "support", "dtr")
BASE = 63 * MS + END_NS


def close(a, b, tolerance=1e-8):
    return abs(a - b) <= tolerance * abs(b)


def case_without_pressure_nothing_costs(cli):
    result = cli.one("replay", example(cli))
    assert set(result) == KEYS, set(result) ^ KEYS
    assert result["feasible"] and result["reason"] is None and result["oom"] is None
    assert result["overhead"] == 1 and result["overhead_per_iteration"] == [1, 1, 1]
    assert result["compute_overhead"] == 1
    assert result["time_ns"] == result["base_time_ns"] == BASE, result
    assert result["base_peak_bytes"] == result["peak_bytes"] == 4 * MIB
    assert result["floor_bytes"] == 3 * MIB and result["calls"] == 6
    assert result["evictions"] == result["recomputes"] == result["swapped_bytes"] == 0
    assert (result["policy"], result["machine"], result["layout"], result["budget"]) == (
        "coop", "titanv-12g", "zones", "100%")
    assert result["swap"] == "default" and result["iterations"] == 3


def case_one_recompute_for_each_policy(cli):
    results = cli.lines("replay", example(cli), "--budget", "75%", "--policy", "all")
    listed = [result["policy"] for result in results]
    assert set(POLICIES) <= set(listed), listed
    for result in results:
        assert result["budget_bytes"] == 3 * MIB
        if result["policy"] == "none":
            assert not result["feasible"] and result["reason"] == "out of memory", result
            continue
        if result["policy"] not in POLICIES:
            continue
        assert result["time_ns"] == BASE + MS, result
        assert close(result["overhead"], (BASE + MS) / BASE)
        assert close(result["compute_overhead"], (BASE + MS) / BASE)
        assert result["overhead_per_iteration"] == [result["overhead"]] * 3
        assert (result["evictions"], result["recomputes"]) == (1, 1)
        assert result["recompute_ns"] == MS and result["stall_ns"] == 0
        assert result["peak_bytes"] == 3 * MIB


def case_commodity_counts_bytes_without_addresses(cli):
    trace = example(cli, size=MIB - 1)
    for options in (("--commodity",), ("--layout", "commodity")):
        result = cli.one("replay", trace, "--budget", "75%", "--policy", "dtr", *options)
        assert result["layout"] == "commodity" and result["feasible"]
        # Nothing is rounded where there are no addresses.
        assert result["peak_bytes"] == result["budget_bytes"] == 3 * (MIB - 1)
        assert (result["evictions"], result["recomputes"]) == (1, 1)
    zones = cli.one("replay", trace, "--budget", "75%", "--policy", "dtr")
    assert not zones["feasible"], "three blocks, rounded up, do not fit"


def case_too_small_a_budget_is_a_result(cli):
    result = cli.one("replay", example(cli), "--budget", "2MiB")
    assert not result["feasible"] and result["reason"] == "out of memory"
    assert result["overhead"] is None and result["time_ns"] is None
    assert result["compute_overhead"] is None and result["overhead_per_iteration"] == []
    assert "needs 1048576 bytes" in result["oom"], result["oom"]
    tiny = cli.one("replay", example(cli), "--budget", "0.05%")
    assert tiny["reason"] == "out of memory" and "4 KiB" in tiny["oom"]


def case_a_budget_that_cannot_do_is_soon_given_up(cli):
    """Gradients that must all be there at the end: only by then it shows that they do not fit."""
    trace, layers = Trace(), 40
    chain = [trace.op(MS, [], MIB)]
    for _ in range(layers):
        chain.append(trace.op(MS, [chain[-1]], MIB))
    gradient = trace.op(MS, [chain[-1]], MIB)
    for below in reversed(chain[:-1]):
        gradient, _ = trace.op(MS, [gradient, below], [MIB, MIB])
    path = trace.save(cli, "kept.trace")
    floor = cli.one("replay", path)["floor_bytes"]
    result = cli.one("replay", path, "--budget", str(floor - MIB), "--policy", "dtr")
    assert result["reason"] == "out of memory", result
    assert f"end of a pass: needs {floor} bytes at once" in result["oom"], result
    assert result["recompute_ns"] < 2 * result["base_time_ns"], result


def case_budgets_are_bytes_or_shares(cli):
    trace = example(cli)
    for budget, size in (("75%", 3 * MIB), ("3MiB", 3 * MIB), ("3145728", 3 * MIB),
                         ("4MB", 4000000), ("200%", 8 * MIB), ("0.5GiB", 512 * MIB)):
        result = cli.one("replay", trace, "--budget", budget)
        assert result["budget"] == budget
        assert 0 <= size - result["budget_bytes"] < 512, result["budget_bytes"]


def case_passes(cli):
    for count in (1, 2, 7):
        result = cli.one("replay", example(cli), "--iterations", str(count), "--budget", "75%")
        assert len(result["overhead_per_iteration"]) == result["iterations"] == count
        assert result["overhead"] == result["overhead_per_iteration"][-1]


def case_thrashing_ends(cli):
    """A chain whose values are read backwards, in room for four of sixty: quadratic recomputes."""
    trace = Trace()
    values = [trace.op(MS, [], MIB)]
    for _ in range(60):
        values.append(trace.op(MS, [values[-1]], MIB))
    gradient = trace.op(MS, [values[-1]], MIB)
    for value in reversed(values):
        old, gradient = gradient, trace.op(MS, [gradient, value], MIB)
        trace.free(old, value)
    path = trace.save(cli, "chain.trace")
    result = cli.one("replay", path, "--budget", "5MiB", "--policy", "lru", "--limit", "2")
    assert not result["feasible"] and result["reason"] == "thrashed", result
    assert result["oom"] is None and result["overhead"] is None
    assert result["recompute_ns"] <= 4 * trace.compute_ns, "it went on and on"
    patient = cli.one("replay", path, "--budget", "5MiB", "--policy", "lru", "--limit", "1000")
    assert patient["feasible"] and patient["overhead"] > 2
    first, *later = patient["overhead_per_iteration"]
    assert max(later) < 5 < first, "the first pass gets more, or this shows nothing"
    lenient = cli.one("replay", path, "--budget", "5MiB", "--policy", "lru", "--limit", "5")
    assert lenient["overhead"] == patient["overhead"], lenient
    single = cli.one("replay", path, "--budget", "5MiB", "--policy", "lru", "--limit", "5",
                     "--iterations", "1")
    assert single["reason"] == "thrashed", "it is the one that counts"


def case_writes_in_place(cli):
    """A value nobody reads any more is written where it is; an old one that is wanted stays."""
    trace = Trace()
    a = trace.op(MS, [], MIB)
    b = trace.write_over(MS, [a], a, MIB)
    trace.free(a)
    trace.op(MS, [b], 0)
    result = cli.one("replay", trace.save(cli, "place.trace"))
    assert result["base_peak_bytes"] == 2 * MIB, "a write counts as out of place"
    assert result["peak_bytes"] == MIB and result["calls"] == 3

    trace = Trace()
    a = trace.op(MS, [], MIB)
    b = trace.write_over(MS, [a], a, MIB)
    trace.op(MS, [b], 0)
    trace.op(MS, [a], 0)
    trace.free(a, b)
    result = cli.one("replay", trace.save(cli, "kept.trace"))
    assert result["peak_bytes"] == result["base_peak_bytes"] == 2 * MIB


def case_constants_live_across_passes(cli):
    """A parameter that a step writes; a batch that each pass brings anew."""
    trace = Trace()
    weight = trace.const(2 * MIB, persistent=True)
    batch = trace.const(MIB)
    y = trace.op(3 * MS, [weight, batch], MIB, "forward")
    gradient = trace.op(5 * MS, [y, weight], 2 * MIB, "backward")
    trace.free(y, batch)
    assert trace.write_over(MS, [weight, gradient], weight, 2 * MIB, leaf=True) == weight
    trace.free(gradient)
    result = cli.one("replay", trace.save(cli, "step.trace"), "--iterations", "4")
    assert result["feasible"] and result["overhead_per_iteration"] == [1] * 4
    assert result["base_peak_bytes"] == result["floor_bytes"] == 6 * MIB
    assert result["peak_bytes"] == 6 * MIB
    # Nothing is read at the end, but the batch takes a nanosecond to make.
    assert result["time_ns"] == 9 * MS + 1


def case_a_leaf_that_is_let_go_leaves_its_place(cli):
    """Labels are as large as maps, and go while the loss that was made of them is still held: under
    a plan nobody waits for their place, and the plan comes true."""
    trace = Trace("sim:titanv-12g")
    weights = [trace.const(MIB, persistent=True) for _ in range(8)]
    made = [trace.const(8 * MIB)]
    for weight in weights:
        made.append(trace.op(MS, [made[-1], weight], 8 * MIB, "forward"))
    labels = trace.const(8 * MIB)
    loss = trace.op(MS, [made[-1], labels], 4, "loss")
    flow = trace.op(MS, [made[-1], labels], 8 * MIB, "loss_backward")
    trace.free(labels)
    gradients = []
    for weight in reversed(weights):
        trace.free(made.pop())
        gradients.append(trace.op(MS, [made[-1], flow], MIB, "backward_weight"))
        back = trace.op(MS, [flow, weight], 8 * MIB, "backward")
        trace.free(flow)
        flow = back
    trace.free(flow, loss, made.pop())
    for weight, gradient in zip(reversed(weights), gradients):
        trace.write_over(MS, [weight, gradient], weight, MIB, leaf=True)
    trace.free(*gradients)
    trace.mark()
    path = trace.save(cli, "labels.trace")
    for budget in ("90%", "80%", "70%", "60%"):
        run = cli.one("replay", path, "--budget", budget, "--policy", "cebus", "--swap", "off")
        assert run["feasible"] and run["missed_placements"] == 0, run
        assert run["guided_measured_ns"] == run["guided_predicted_ns"], run


def queue(cli, sizes, cost=MS // 10):
    """Values made one of the other, then read twice in the same order. They are held to the end,
    and the first is made of what persists."""
    trace = Trace("sim:p100-16g")
    made = [trace.const(MIB // 16, persistent=True)]
    for size in sizes:
        made.append(trace.op(cost, [made[-1]], size * MIB, "make"))
    total = trace.op(cost, [], MIB // 64, "zeros")
    for value in made[1:] * 2:
        last, total = total, trace.op(cost, [total, value], MIB // 64, "read")
        trace.free(last)
    trace.free(total, *made[1:])
    trace.mark()
    return trace.save(cli, "queue.trace")


def case_what_was_read_for_the_last_time_goes_though_its_call_is_large(cli):
    """To make it again would take half of the memory at once, but nobody is going to. And what
    persists, which had to leave in the first pass, is back before others have its place."""
    for sizes, budget in (((2, 6, 1, 1, 2, 1), "80%"), ((1, 4, 1, 1, 2, 1, 2, 1, 1), "62%")):
        path = queue(cli, sizes)
        run = cli.one("replay", path, "--budget", budget, "--policy", "cebus", "--swap", "on",
                      "--machine", "p100-16g,link=3GB")
        assert run["feasible"] and run["missed_placements"] == 0, run
        assert run["guided_measured_ns"] == run["guided_predicted_ns"], run
        assert run["overhead"] < 1.3, run


def state_heavy(cli, layers=8, size=100 * MIB, maps=20 * MIB, cost=20 * MS):
    """A step of a network whose parameters and momentum fill most of the memory."""
    trace = Trace("sim:titanv-12g")
    weights = [trace.const(size, persistent=True) for _ in range(layers)]
    states = [trace.const(size, persistent=True) for _ in range(layers)]
    made = [trace.const(maps)]
    for weight in weights:
        made.append(trace.op(cost, [made[-1], weight], maps, "forward"))
    flow = trace.op(cost // 4, [made[-1]], maps, "loss")
    gradients = [None] * layers
    for i in reversed(range(layers)):
        trace.free(made[i + 1])
        gradients[i] = trace.op(cost, [made[i], flow], size, "backward_weight")
        back = trace.op(cost, [flow, weights[i]], maps, "backward")
        trace.free(flow)
        flow = back
    trace.free(flow)
    for weight, gradient, state in zip(weights, gradients, states):
        trace.write_over(cost // 20, [state, gradient], state, size, leaf=True)
        trace.write_over(cost // 20, [weight, state], weight, size, leaf=True)
    trace.free(*gradients)
    trace.mark()
    return trace.save(cli, "state.trace")


def case_copies_go_on_while_the_next_pass_begins(cli):
    """What a plan sends away as a pass ends costs nothing but what somebody waits for."""
    path = state_heavy(cli)
    runs = {policy: cli.one("replay", path, "--budget", "95%", "--policy", policy, "--swap", "on",
                            "--iterations", "5") for policy in ("cebus", "coop")}
    planned = runs["cebus"]
    assert planned["swapped_bytes"] > 0 and planned["missed_placements"] == 0, planned
    measured = planned["guided_measured_ns"] / planned["base_time_ns"]
    assert abs(planned["overhead"] - measured) < 0.001, (planned["overhead"], measured)
    assert planned["overhead"] < runs["coop"]["overhead"], runs


def case_places_that_calls_wait_for_are_given_up(cli):
    """Where copies leave places too late for the next pass, bytes are found as they are needed."""
    path = state_heavy(cli)
    runs = {policy: cli.one("replay", path, "--budget", "90%", "--policy", policy, "--swap", "on",
                            "--iterations", "12") for policy in ("cebus", "coop")}
    assert runs["cebus"]["overhead"] < runs["coop"]["overhead"] + 0.005, runs


def case_a_pass_in_which_a_plan_comes_into_force_may_take_longer(cli):
    """Parameters are still where the pass before left them, which counts against no plan."""
    path = state_heavy(cli, cost=3 * MS)
    run = ("replay", path, "--budget", "70%", "--policy", "cebus", "--swap", "on", "--iterations")
    patient = cli.one(*run, "5", "--limit", "1000")
    _, second, *later = patient["overhead_per_iteration"]
    assert max(later) < 2.5 < second < 5, "or this shows nothing"
    assert cli.one(*run, "5", "--limit", "2.5")["overhead"] == patient["overhead"]
    assert cli.one(*run, "2", "--limit", "2.5")["reason"] == "thrashed"


def case_what_is_not_freed_is_there_at_the_end(cli):
    """Two values that nobody reads again, and a third that needs their room: one is made again."""
    trace = Trace()
    for name in ("p", "q"):
        trace.op(MS, [], MIB, name)
    big = trace.op(4 * MS, [], 2 * MIB, "big")
    trace.free(big)
    path = trace.save(cli, "held.trace")
    whole = cli.one("replay", path)
    assert whole["base_peak_bytes"] == 4 * MIB and whole["floor_bytes"] == 2 * MIB
    result = cli.one("replay", path, "--budget", "3MiB", "--policy", "lru", "--commodity")
    assert result["evictions"] == result["recomputes"] == 1, result
    assert result["time_ns"] == 6 * MS + MS + END_NS


def case_workspace_is_part_of_the_budget(cli):
    trace = Trace()
    a = trace.op(MS, [], MIB, workspace=2 * MIB)
    trace.op(MS, [a], MIB)
    path = trace.save(cli, "workspace.trace")
    result = cli.one("replay", path)
    assert result["peak_bytes"] == result["base_peak_bytes"] == result["floor_bytes"] == 3 * MIB
    assert not cli.one("replay", path, "--budget", "2MiB")["feasible"]


def case_values_that_cannot_be_made_again_stay(cli):
    """The example with a first op that cannot be repeated: it could only be swapped."""
    trace = Trace()
    a = trace.op(MS, [], MIB, flags=["nonreplayable"])
    b = trace.op(2 * MS, [a], MIB)
    c = trace.op(4 * MS, [b], MIB)
    d = trace.op(8 * MS, [c], MIB)
    trace.free(c)
    trace.op(16 * MS, [d, b], 0)
    trace.free(d, b)
    trace.op(32 * MS, [a], 0)
    path = trace.save(cli, "once.trace")
    result = cli.one("replay", path, "--budget", "3MiB", "--commodity", "--policy", "dtr")
    assert result["feasible"] and result["floor_bytes"] == 3 * MIB
    assert result["evictions"] == 1 and result["recompute_ns"] == 2 * MS, "b went, not a"
    assert not cli.one("replay", path, "--budget", "2.5MiB", "--commodity")["feasible"]


def case_plans_that_swap_are_given_time_to_settle(cli):
    how = ("replay", example(cli), "--budget", "75%", "--policy", "cebus", "--swap")
    swapped = cli.one(*how, "on")
    assert swapped["swapped_bytes"] > 0 and swapped["guided_iterations"] > 0, swapped
    assert len(swapped["overhead_per_iteration"]) == swapped["iterations"] == 16, swapped
    assert cli.one(*how, "on", "--iterations", "4")["iterations"] == 4
    assert cli.one(*how, "off")["iterations"] == 3


def case_iterations_are_found_without_marks(cli):
    log = os.path.join(DTR_LOGS, "chain.log")
    how = ("replay", log, "--budget", "50%", "--policy", "sublinear", "--iterations")
    marked = cli.one(*how, "6")
    assert marked["marks"] == "on" and marked["iterations_repeated"] == 1
    unmarked = cli.one(*how, "6", "--marks", "off")
    assert unmarked["marks"] == "off" and unmarked["iterations_known"] == 1
    assert unmarked["iterations_repeated"] == 1 and unmarked["time_ns"] == marked["time_ns"]
    assert cli.one(*how, "3", "--marks", "off")["iterations_known"] == 0
    assert cli.one(*how, "6", "--policy", "dtr")["iterations_known"] == 0, "it does not plan"


def case_learning_in_ample_memory(cli):
    """What a policy would learn in the budget it is told before; then it plans at once."""
    log = os.path.join(DTR_LOGS, "chain.log")
    how = ("replay", log, "--budget", "50%", "--policy", "cebus", "--swap", "off")
    begun, told = cli.one(*how), cli.one(*how, "--learn", "ample", "--iterations", "1")
    assert begun["learn"] == "budget" and told["learn"] == "ample"
    assert told["time_ns"] == begun["time_ns"] and told["planned_replays"] > 0, (begun, told)
    assert told["peak_bytes"] <= told["budget_bytes"] == begun["budget_bytes"]
    reactive = cli.one(*how, "--policy", "dtr", "--learn", "ample")
    assert reactive["feasible"] and reactive["planned_replays"] == 0
    little = cli.one("replay", log, "--budget", "5KiB", "--learn", "ample")
    assert not little["feasible"] and little["reason"] == "out of memory", little
    assert little["budget_bytes"] == 5 * 1024, "what was asked for, not what it was learned in"


def case_swapping(cli):
    """A batch that only a copy can bring back."""
    trace = Trace()
    batch = trace.const(8 * MIB)
    a = trace.op(10 * MS, [batch], 8 * MIB)
    b = trace.op(10 * MS, [a], 8 * MIB)
    trace.free(a)
    trace.op(10 * MS, [b, batch], 0)
    path = trace.save(cli, "batch.trace")
    assert not cli.one("replay", path, "--budget", "16MiB", "--swap", "off")["feasible"]
    result = cli.one("replay", path, "--budget", "16MiB", "--swap", "on")
    assert result["swap"] == "on" and result["feasible"], result
    assert result["recomputes"] == 0 and result["swapped_bytes"] == 2 * 8 * MIB
    assert result["time_ns"] == result["base_time_ns"] + result["stall_ns"], result
    assert result["floor_bytes"] <= cli.one("replay", path)["floor_bytes"]
    fast = cli.one("replay", path, "--budget", "16MiB", "--swap", "on", "--machine", "h200-141g")
    assert 0 < fast["stall_ns"] < result["stall_ns"], "a faster link"
    none = cli.one("replay", path, "--budget", "16MiB", "--swap", "on", "--host-budget", "4MiB")
    assert not none["feasible"], "no room on the host"


def case_marks_are_kept(cli):
    """Marks in the middle and at the end of a trace; policies that plan learn from them."""
    trace = Trace()
    for _ in range(2):
        a = trace.op(MS, [], MIB)
        trace.free(a)
        trace.mark()
    path = trace.save(cli, "marks.trace")
    record = cli.path("marks.run")
    cli.run("replay", path, "--record", record, "--iterations", "2")
    with open(record, encoding="utf-8") as file:
        kinds = [json.loads(line).get("kind") for line in file]
    assert kinds.count("mark") == 4, "two of each pass, none twice"


def case_profile_replaces_costs(cli):
    trace = Trace()
    a = trace.op(MS, [], MIB, "a", hash="00000000000000aa")
    trace.op(MS, [a], MIB, "b", hash="bb")
    trace.op(MS, [a], MIB, "b", hash="bc")
    path = trace.save(cli, "costs.trace")
    profile = {"cebus_profile": 1, "machine": "x", "ops": [
        {"name": "a", "hash": "aa", "cost_ns": 5 * MS, "count": 1},
        {"name": "b", "hash": "00bb", "cost_ns": 7 * MS, "count": 1},
        {"name": "a", "hash": "bc", "cost_ns": 9 * MS, "count": 1}]}
    file = cli.write("profile.json", json.dumps(profile))
    assert cli.one("replay", path)["time_ns"] == 3 * MS + END_NS
    assert cli.one("replay", path, "--profile", file)["time_ns"] == 13 * MS + END_NS


def case_a_free_op_costs_nothing(cli):
    trace = Trace()
    a = trace.op(0, [], MIB)
    trace.op(MS, [a], MIB)
    result = cli.one("replay", trace.save(cli, "free.trace"))
    assert result["time_ns"] <= MS + 2, "not what the machine would take for the bytes"


def case_standard_input(cli):
    path = example(cli)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    result = cli.one("replay", "-", "--budget", "75%", stdin=text)
    assert result["trace"] == "-" and result["recomputes"] == 1
    with open(os.path.join(DTR_LOGS, "chain.log"), encoding="utf-8") as file:
        assert cli.one("replay", "-", "--format", "dtr", stdin=file.read())["calls"] == 24


def case_logs_of_the_dtr_simulator(cli):
    """Figures that the published rules give; released constants stay, so they count here."""
    with open(os.path.join(DTR_LOGS, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    for name, figures in expected.items():
        path = os.path.join(DTR_LOGS, name)
        result = cli.one("replay", path, "--commodity", "--policy", "dtr")
        assert result["overhead"] == 1 and result["evictions"] == 0, name
        assert 0 <= result["time_ns"] - figures["compute"] <= END_NS, name
        if figures["overhead"]["1"] == 1:
            assert result["base_peak_bytes"] == figures["peak"], name
        else:
            assert result["base_peak_bytes"] >= figures["peak"], name
        less = cli.one("replay", path, "--commodity", "--policy", "dtr", "--budget", "90%")
        assert less["overhead"] <= 1 + 1.1 * (figures["overhead"]["0.9"] - 1), (name, less)
        assert cli.one("replay", path, "--format", "dtr")["calls"] == result["calls"]


def case_runs_repeat(cli):
    """Two runs say the same to the byte, but for the time of the host."""
    path = os.path.join(DTR_LOGS, "mutations.log")
    for options in ((), ("--commodity", "--policy", "dtr"), ("--swap", "on", "--policy", "lru")):
        a, b = (cli.one("replay", path, "--budget", "50%", *options) for _ in range(2))
        assert stable(a) == stable(b), (a, b)
        assert a["evictions"] > 0


def case_no_policy_exceeds_a_budget(cli):
    """Every policy at every budget ends, and keeps it."""
    for log in ("chain.log", "all_kinds.log", "siblings.log", "constants.log"):
        for options in ((), ("--commodity",), ("--swap", "on")):
            for share in range(100, 0, -10):
                for result in cli.lines("replay", os.path.join(DTR_LOGS, log), *options, "--budget",
                                        f"{share}%", "--policy", "all", "--iterations", "2"):
                    assert result["peak_bytes"] <= result["budget_bytes"], result
                    assert result["budget_bytes"] * 100 <= result["base_peak_bytes"] * share
                    if result["budget_bytes"] < result["floor_bytes"]:
                        assert not result["feasible"] or result["swapped_bytes"] > 0, result
                    elif result["feasible"]:
                        assert result["overhead"] >= 1 and result["compute_overhead"] >= 1


def case_tables(cli):
    path = example(cli)
    text = cli.run("replay", path, "--budget", "75%").stdout
    for row in ("overhead             1.0159", "evictions            1", "recomputes           1",
                "budget               3.00 MiB", "time                 64.00 ms"):
        assert row in text, (row, text)
    text = cli.run("replay", path, "--budget", "1MiB").stdout
    assert "feasible             no: out of memory" in text, text
    text = cli.run("replay", path, "--budget", "75%", "--policy", "all").stdout
    for policy in POLICIES:
        assert f"\n{policy} " in text, text


if __name__ == "__main__":
    main(globals())
