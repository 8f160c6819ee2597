#!/usr/bin/env python3
"""Traces that the library recorded, replayed: small models on the CPU, paper sizes on sim:*.

usage: test_recorded.py PROGRAM TRACE_MODEL
"""
import json
import subprocess
import sys

from cli import main, stable

SMALL = ("mlp", "cnn", "gpt", "lstm", "tree", "unet", "bert", "gan")
LARGE = (("coop-resnet50", "60%"), ("coop-bert-large", "80%"))
DEVICE = "sim:a100-80g"


def record(cli, name, *options):
    path = cli.path(name + ".trace")
    subprocess.run([sys.argv[2], *options, "-o", path], check=True, capture_output=True)
    return path


def check(cli, path, share):
    """What holds of any trace, at any budget; feasible without addresses at the share given."""
    # Values of a few bytes take 512 each where they have addresses.
    whole = cli.one("replay", path, "--budget", "600%")
    assert whole["feasible"] and whole["evictions"] == 0, whole
    assert whole["overhead_per_iteration"] == [1, 1, 1]
    exact = cli.one("replay", path, "--budget", "600%", "--commodity")
    assert exact["peak_bytes"] <= 1.1 * whole["base_peak_bytes"]
    assert whole["floor_bytes"] <= whole["base_peak_bytes"]
    for policy in ("dtr", "coop"):
        less = cli.one("replay", path, "--commodity", "--policy", policy, "--budget", share)
        assert less["feasible"] and less["evictions"] > 0, less
        assert less["peak_bytes"] <= less["budget_bytes"]
        assert less["compute_overhead"] > 1, less
        assert less["overhead_per_iteration"][-1] == less["overhead"]
    return whole


def case_small_models_on_the_cpu(cli):
    for model in SMALL:
        check(cli, record(cli, model, model), "85%")


def case_paper_sizes_on_simulated_machines(cli):
    for preset, share in LARGE:
        path = record(cli, preset, "--preset", preset, "--device", DEVICE)
        whole = check(cli, path, share)
        assert whole["base_peak_bytes"] > 1 << 30


def case_a_trace_repeats_on_the_machine_that_recorded_it(cli):
    """The costs are those of the machine: a pass takes what the ops took, one after the other."""
    path = record(cli, "r50", "--preset", "coop-resnet50", "--device", DEVICE)
    with open(path, encoding="utf-8") as file:
        costs = sum(json.loads(line).get("cost_ns", 0) for line in file)
    whole = cli.one("replay", path, "--machine", "a100-80g", "--budget", "80GiB")
    assert abs(whole["time_ns"] - costs) <= whole["calls"] / 100, (whole["time_ns"], costs)


def case_a_profile_of_a_trace_changes_little(cli):
    """Medians over two steps: the same ops, the same evictions on a simulated machine's costs."""
    path = record(cli, "bert", "--preset", "coop-bert-large", "--device", DEVICE)
    profile = cli.path("profile.json")
    cli.run("profile", path, "-o", profile)
    how = ("replay", path, "--budget", "70%", "--policy", "dtr")
    own, profiled = cli.one(*how), cli.one(*how, "--profile", profile)
    assert stable(own) == stable(profiled), "each op always costs the same there"
    with open(profile, encoding="utf-8") as file:
        assert json.load(file)["machine"] == DEVICE


def case_sums_of_explain(cli):
    path = record(cli, "gpt", "gpt")
    for options in ((), ("--commodity",), ("--swap", "on")):
        how = (path, "--budget", "90%", "--policy", "dtr", *options)
        replayed, explained = cli.one("replay", *how), cli.one("explain", *how)
        for key in ("evictions", "recomputes", "recompute_ns", "swapped_bytes", "overhead"):
            assert explained[key] == replayed[key], (options, key)
        assert replayed["evictions"] > 0


if __name__ == "__main__":
    main(globals())
