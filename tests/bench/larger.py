#!/usr/bin/env python3
"""What models cost whose parameters and optimizer state alone are more than the budget.

usage: larger.py CEBUS TRACE... [--times 3,1.5,1.1] [--machine titanv-12g]

A markdown table: for budgets of so many times less than what persists, the last iteration over one
with all the memory it wants. `bound`: the larger of the calls and of what must go over the link:
what persists beyond the budget comes once and goes once, beside each other. x does not fit, or
thrashes. In brackets what the plan foretold over what its iterations took, less 1, in percent.
"""
import argparse
import json
import os
import subprocess

POLICIES = ("coop", "odswap", "cebus")
LINK = 12e9


def persistent_bytes(trace):
    """Of all constants of a trace that persist."""
    with open(trace, encoding="utf-8") as lines:
        items = (json.loads(line) for line in lines)
        return sum(item["bytes"] for item in items if item.get("persistent"))


def cell(given, trace, budget, policy):
    """One run: overhead, and what was foretold; and its time without a budget."""
    done = subprocess.run([given.program, "replay", trace, "--budget", str(budget), "--policy",
                           policy, "--swap", "on", "--machine", given.machine, "--iterations",
                           str(given.iterations), "--json"],
                          check=True, capture_output=True, text=True)
    run = json.loads(done.stdout)
    if not run["feasible"]:
        return "x", run["base_time_ns"]
    text = f"{run['overhead']:.2f}"
    if run["guided_predicted_ns"] > 0:
        apart = 100 * (run["guided_predicted_ns"] / run["guided_measured_ns"] - 1)
        text += f" ({apart:+.1f})"
    return text, run["base_time_ns"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("traces", nargs="+")
    parser.add_argument("--times", default="3,1.5,1.1")
    parser.add_argument("--machine", default="titanv-12g")
    parser.add_argument("--iterations", type=int, default=6)
    given = parser.parse_args()
    print("| trace | persists | times the budget | bound | "
          + " | ".join(POLICIES) + " |")
    print("|---|---:|---:|---:|" + "---|" * len(POLICIES))
    for trace in given.traces:
        persists = persistent_bytes(trace)
        for times in given.times.split(","):
            budget = int(persists / float(times))
            cells = [cell(given, trace, budget, name) for name in POLICIES]
            base = max(ns for _, ns in cells) or 1
            bound = max(1.0, (persists - budget) / LINK * 1e9 / base)
            name = os.path.splitext(os.path.basename(trace))[0]
            print(f"| {name} | {persists / 1e9:.2f} GB | {times} | {bound:.2f} | "
                  + " | ".join(text for text, _ in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
