#!/usr/bin/env python3
"""What plans say an iteration takes, against what it takes on a simulated machine.

usage: foretold.py CEBUS LOG... [--budgets 70,50,40] [--machine p100-16g]

A markdown table: (predicted / measured - 1) in percent for each log, budget and way to plan; x does
not fit, - no plan was in force.
"""
import argparse
import json
import os
import subprocess

WAYS = (("cebus, replays alone", ("--policy", "cebus", "--swap", "off")),
        ("cebus, with swaps", ("--policy", "cebus", "--swap", "on")),
        ("capuchin", ("--policy", "capuchin",)))


def cell(program, log, budget, way, machine):
    """One run's error, as text."""
    done = subprocess.run([program, "replay", log, "--format", "dtr", "--budget", f"{budget}%",
                           "--machine", machine, "--iterations", "5", "--json", *way],
                          check=True, capture_output=True, text=True)
    run = json.loads(done.stdout)
    if not run["feasible"]:
        return "x"
    if run["guided_predicted_ns"] == 0:
        return "-"
    return f"{100 * (run['guided_predicted_ns'] / run['guided_measured_ns'] - 1):+.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("logs", nargs="+")
    parser.add_argument("--budgets", default="70,50,40")
    parser.add_argument("--machine", default="p100-16g")
    given = parser.parse_args()
    budgets = given.budgets.split(",")
    print("| log | " + " | ".join(f"{name}: {' / '.join(budgets)}" for name, _ in WAYS) + " |")
    print("|---|" + "---|" * len(WAYS))
    for log in given.logs:
        cells = [" / ".join(cell(given.program, log, budget, way, given.machine)
                            for budget in budgets) for _, way in WAYS]
        name = os.path.splitext(os.path.basename(log))[0]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
