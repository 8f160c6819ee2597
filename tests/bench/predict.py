#!/usr/bin/env python3
"""What `cebus` predicts a smaller budget costs on the CPU, beside what it costs.

usage: predict.py BUILD [MODEL [POLICIES [BUDGETS [ROUNDS]]]]

BUILD is a release build with -Dbench=true. A trace of MODEL (gpt) is recorded on the CPU without a
budget; `cebus profile` takes the median cost of each op over its steps, since single costs are as
noisy as the machine; `cebus sweep` predicts; bench_budget trains under the same budgets. Both
take their percentages of the same peak, which is checked.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

# The sizes of bench.c, as trace_model takes them. Their peaks must come out equal.
MODELS = {
    "gpt": "--batch 16 --width 128 --depth 12 --length 128 --classes 256 --heads 4 --dropout -1 "
           "--untied",
    "resnet18": "",
    "mlp": "--batch 2048 --width 256 --depth 8",
    "cnn": "--batch 64 --width 16 --depth 3 --length 32",
    "lstm": "--batch 64 --width 96 --depth 2 --length 48",
    "unet": "--batch 8 --width 16 --depth 3 --length 64",
}
STEPS, WARM_UP = 15, 2
PEAK_ERROR = 0.002  # bench_budget prints tenths of a MiB, and rounds blocks up
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False, encoding="utf-8",
                          env=ENVIRONMENT)
    if done.returncode != 0:
        sys.exit(f"predict.py: {' '.join(command)}: exit status {done.returncode}")
    return done.stdout


def predict(build, folder, model, policies, budgets):
    """Results of `cebus sweep` without swapping, as the CPU does not swap: one a point."""
    trace, profile = (os.path.join(folder, name) for name in ("trace", "profile"))
    run(f"{build}/tests/trace_model", model, *MODELS[model].split(), "--warmup", str(WARM_UP),
        "--steps", str(STEPS), "-o", trace)
    cebus = f"{build}/bindings/cli/cebus"
    run(cebus, "profile", trace, "-o", profile)
    lines = run(cebus, "sweep", trace, "--profile", profile, "--swap", "off", "--json",
                "--policies", ",".join(policies), "--budgets", ",".join(budgets))
    return [json.loads(line) for line in lines.splitlines()]


def measure(build, model, policy, budget, rounds):
    """(peak MiB, {column: text} of the line, or None where the program has no such line)."""
    text = run(f"{build}/tests/bench/bench_budget", str(rounds), model, policy,
               budget.rstrip("%"))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]]
            for line in text.splitlines() if line.startswith("|")]
    peak = re.search(r"peak ([0-9.]+) MiB", text)
    lines = [dict(zip(rows[0], row)) for row in rows[2:] if row[1:3] == [policy, budget]]
    return float(peak.group(1)), lines[0] if lines else None


def show(predicted, peak, measured):
    recorded = predicted["base_peak_bytes"] / 2**20
    if abs(recorded / peak - 1) > PEAK_ERROR:
        sys.exit(f"predict.py: not the same model: the trace takes {recorded:.1f} MiB, "
                 f"bench_budget {peak:.1f}: do their sizes differ?")
    head = f"| {predicted['policy']} | {predicted['budget']} | "
    if measured is None or not predicted["feasible"] or measured["spread"] == "":
        print(head + f"{predicted['overhead'] or 'does not fit'} | "
              f"{'left out' if measured is None else measured['time, unlimited = 1']} | | | | | |")
        return
    rerun = predicted["recompute_ns"] / (predicted["time_ns"] - predicted["recompute_ns"])
    real = float(measured["time, unlimited = 1"])
    print(head + f"{predicted['overhead']:.3f} | {real:.3f} | {measured['spread']} | "
          f"{100 * (predicted['overhead'] / real - 1):+.1f}% | {100 * rerun:.1f}% | "
          f"{measured['rerun']} | {predicted['recomputes'] / STEPS:.0f} | "
          f"{measured['recomputes a step']} |", flush=True)


def main(build, model="gpt", policies="coop", budgets="50%", rounds="9"):
    if model not in MODELS:
        sys.exit(f"predict.py: no model \"{model}\": there are {', '.join(MODELS)}")
    print("| policy | of peak | predicted | measured | spread | predicted / measured "
          "| rerun, predicted | rerun, measured | recomputes a step, predicted | measured |\n"
          "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        points = predict(build, folder, model, policies.split(","), budgets.split(","))
    for point in points:
        show(point, *measure(build, model, point["policy"], point["budget"], rounds))


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
