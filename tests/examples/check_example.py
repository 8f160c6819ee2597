#!/usr/bin/env python3
"""An example trains within a budget to the bits it has without one, and says so in valid JSON.

usage: check_example.py PROGRAM NAME

Prints TAP. Sizes are small: what is looked at is the program, not the model.
"""
import json
import math
import os
import subprocess
import sys
import tempfile
import traceback

STEPS = 3
GRANULE = 4096  # budgets may be rounded down to whole ones
SMALL = {
    "char_gpt": "--layers 6 --width 48 --heads 2 --context 64 --batch 8 --sample 20".split(),
    "cnn": "--width 4 --blocks 3 --side 16 --batch 16".split(),
}
FIELDS = {
    "peak_bytes": int, "budget_bytes": int, "ms_per_step": float, "evictions": int,
    "recomputes": int, "dropped_bytes": int, "losses": list, "parameters_sha256": str,
    "plan": str,
}
WRONG = (
    ("--budget 3XB", "3XB"), ("--budget -5", "-5"), ("--budget 0", "--budget"),
    ("--policy best", "best"), ("--steps 0", "--steps"), ("--steps 3x", "3x"),
    ("--threads 0", "--threads"), ("--seed -1", "--seed"), ("--colour", "colour"),
    ("left over", "arguments"), ("--budget 40% --no-reference", "--no-reference"),
)
WRONG_FOR = {
    "char_gpt": (("--heads 5 --width 32", "--heads"), ("--layers 0", "--layers")),
    "cnn": (("--dropout 101", "--dropout"), ("--batch 1", "--batch")),
}


class Example:
    """The program with the options that every run of it gets."""

    def __init__(self, program, options):
        self.command = [program, "--steps", str(STEPS), "--threads", "1", *options]

    def run(self, *options):
        return subprocess.run([*self.command, *options], capture_output=True, check=False,
                              encoding="utf-8", errors="replace")

    def json(self, *options):
        done = self.run("--json", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def check_run(run):
    """One run's part of the object is complete and makes sense."""
    for field, kind in FIELDS.items():
        assert isinstance(run[field], kind), f"{field} is {run.get(field)!r}"
    assert len(run["losses"]) == STEPS, run["losses"]
    assert all(math.isfinite(float.fromhex(loss)) for loss in run["losses"]), run["losses"]
    assert len(bytes.fromhex(run["parameters_sha256"])) == 32
    assert 0 < run["peak_bytes"] <= run["budget_bytes"]
    assert run["ms_per_step"] > 0


def same_bits(a, b):
    return a["losses"] == b["losses"] and a["parameters_sha256"] == b["parameters_sha256"]


def default_budget(example):
    """40% of the peak, by default: forced evictions, the same bits."""
    run = example.json()
    check_run(run)
    check_run(run["unlimited"])
    assert 0 <= 0.4 * run["unlimited"]["peak_bytes"] - run["budget_bytes"] < GRANULE
    assert run["evictions"] > 0 and run["recomputes"] > 0 and run["dropped_bytes"] > 0
    assert run["unlimited"]["evictions"] == 0 and run["unlimited"]["recomputes"] == 0
    assert run["identical"] is True and same_bits(run, run["unlimited"])


def every_policy(example):
    """The policy decides what is evicted, never a result."""
    whole = example.json("--budget", "unlimited")
    assert "unlimited" not in whole
    budget = str(whole["peak_bytes"] * 6 // 10)
    for policy in ("lru", "dtr", "dtr-local", "dte", "coop"):
        run = example.json("--policy", policy, "--budget", budget, "--no-reference")
        check_run(run)
        assert run["policy"] == policy and run["evictions"] > 0, run
        assert 0 <= int(budget) - run["budget_bytes"] < GRANULE and "identical" not in run
        assert same_bits(run, whole), policy


def estimated_costs(example):
    """With estimated costs evictions repeat, too."""
    runs = [example.json("--estimate", "--budget", "50%") for _ in range(2)]
    for field in ("evictions", "recomputes", "dropped_bytes", "peak_bytes"):
        assert runs[0][field] == runs[1][field], field


def seeds(example):
    """A seed decides the parameters."""
    first, second, again = (example.json("--budget", "none", "--seed", seed) for seed in "121")
    assert same_bits(first, again) and not same_bits(first, second)


def table(example):
    """Without --json a table for people."""
    done = example.run()
    assert done.returncode == 0, done.stderr
    assert "identical bits: yes" in done.stdout, done.stdout
    for row in ("budget", "peak", "ms/step", "evictions", "recomputes", "bytes dropped",
                "final loss"):
        assert f"\n{row} " in done.stdout, row
    assert done.stderr == "", "progress where there is no terminal"


def too_small(example):
    """A budget that nothing fits into is an error that says why."""
    done = example.run("--budget", "100KiB", "--json")
    assert done.returncode == 1 and done.stdout == ""
    assert "CEBUS_OUT_OF_MEMORY" in done.stderr and "largest hole" in done.stderr, done.stderr


def wrong_options(example, name):
    """A wrong option names itself; exit status 2, nothing trained."""
    for options, named in WRONG + WRONG_FOR[name]:
        done = example.run(*options.split())
        assert done.returncode == 2 and done.stdout == "", (options, done)
        assert named in done.stderr, (options, done.stderr)


def texts(example, folder):
    """Texts that cannot be read or are too short."""
    short = os.path.join(folder, "short.txt")
    with open(short, "w", encoding="ascii") as file:
        file.write("short")
    for path, why in ((short, "5 bytes"), (os.path.join(folder, "absent.txt"), "absent.txt")):
        done = example.run("--text", path)
        assert done.returncode == 1 and why in done.stderr, done


def write_text(folder):
    """A text to learn: not all systems have the one that is the default."""
    path = os.path.join(folder, "text.txt")
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"{i} times {i} is {i * i}\n" for i in range(1000))
    return path


def main(program, name):
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        options = SMALL[name]
        cases = [default_budget, every_policy, estimated_costs, seeds, table, too_small,
                 lambda example: wrong_options(example, name)]
        if name == "char_gpt":
            options = options + ["--text", write_text(folder)]
            cases.append(lambda example: texts(example, folder))
        example = Example(program, options)
        print(f"1..{len(cases)}")
        for number, case in enumerate(cases, 1):
            try:
                case(example)
                print(f"ok {number}")
            except AssertionError:
                failures += 1
                print(f"not ok {number}\n# " + traceback.format_exc().replace("\n", "\n# "))
    return failures > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
