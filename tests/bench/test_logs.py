#!/usr/bin/env python3
"""Every family of tests/support/dtr_logs.py makes a log that is valid, repeats and replays.

usage: test_logs.py PROGRAM
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SUPPORT = os.path.join(HERE, "..", "support")
sys.path[:0] = [os.path.join(HERE, "..", "bindings", "cli"), SUPPORT, os.path.join(SUPPORT, "dtr")]

import dtr_logs        # noqa: E402
from cli import main   # noqa: E402

SCALES = {"lstm": 0.04, "unrolledgan": 0.02, "gan": 0.25}
SCALE = 0.1
DRAWN = ("moe", "skips", "randomtree", "wild", "wildtrain")  # by chance


def record(family, **options):
    return dtr_logs.record(family, SCALES.get(family, SCALE), **options)


class Checker:
    """Holds a log to its format, line by line."""

    def __init__(self, text):
        self.lines = iter(json.loads(line) for line in text.splitlines())
        self.live, self.gone, self.kinds = {}, set(), {}

    def check(self):
        assert self.take()["ANNOTATION"] == "START"
        for line in self.lines:
            kind = line["INSTRUCTION"]
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
            getattr(self, kind.lower())(line)
        return self

    def take(self):
        return next(self.lines)

    def new(self, name, size):
        assert name not in self.live and name not in self.gone, name
        self.live[name] = size

    def memory(self, line):
        raise AssertionError(f"a MEMORY line that belongs to nothing: {line}")

    def size_of(self, name):
        line = self.take()
        assert line["INSTRUCTION"] == "MEMORY" and line["NAME"] == name, line
        assert int(line["MEMORY"]) >= 0, line
        return int(line["MEMORY"])

    def annotate(self, line):
        assert line["ANNOTATION"] == "BACKWARD", line

    def constant(self, line):
        self.new(line["NAME"], self.size_of(line["NAME"]))

    def call(self, line):
        assert all(name in self.live for name in line["ARGS"]) and line["RESULT"], line
        assert int(line["TIME"]) > 0, line
        for name in line["RESULT"]:
            size, alias = self.size_of(name), self.take()
            assert alias["INSTRUCTION"] == "ALIAS" and alias["NAME"] == name, alias
            place = int(alias["ALIAS"])
            assert -1 <= place < len(line["ARGS"]), alias
            assert place < 0 or size == self.live[line["ARGS"][place]], alias
            self.new(name, size)

    def mutate(self, line):
        assert all(name in self.live for name in line["ARGS"]) and line["MUTATE"], line
        assert all(0 <= place < len(line["ARGS"]) for place in line["MUTATE"]), line
        assert int(line["TIME"]) > 0, line

    def copy(self, line):
        self.new(line["DST"], self.live[line["SRC"]])

    def copy_from(self, line):
        assert line["DST"] in self.live, line
        self.live[line["DST"]] = self.live[line["SRC"]]

    def release(self, line):
        self.live.pop(line["NAME"])
        self.gone.add(line["NAME"])


def case_every_family_is_valid_and_repeats(_cli):
    assert len(dtr_logs.FAMILIES) == len(dtr_logs.PUBLISHED) + len(dtr_logs.OTHERS) >= 26
    for family in dtr_logs.FAMILIES:
        text = record(family)
        log = Checker(text).check()
        assert log.kinds["CALL"] >= 20 and log.live, (family, log.kinds)
        assert text == record(family), family


def case_every_family_replays(cli):
    """In a tenth more than it needs, and in less, unless that does not fit."""
    fits = 0
    for family in dtr_logs.FAMILIES:
        path = cli.write(family + ".log", record(family))
        run = cli.one("replay", path, "--swap", "off", "--commodity", "--budget", "110%")
        assert run["feasible"] and run["overhead"] == 1, (family, run)
        assert run["floor_bytes"] < 0.97 * run["base_peak_bytes"], (family, run)
        run = cli.one("replay", path, "--swap", "off", "--commodity", "--budget", "80%")
        assert run["feasible"] or run["reason"], (family, run)
        fits += run["feasible"] and run["evictions"] > 0
    assert fits >= len(dtr_logs.FAMILIES) * 3 // 4, fits


def case_first_passes_end_near_the_floor(cli):
    """A weight's gradient is a sum that grows over all steps. Given up once, most of the backward
    has to run again for it, and a pass took more than ten times the program's time. The passes
    after the first are planned."""
    path = cli.write("stackedlstm.log", dtr_logs.record("stackedlstm", 0.5))
    options = ("replay", path, "--swap", "off", "--policy", "cebus", "--iterations", "2")
    floor = cli.one(*options, "--budget", "110%")["floor_bytes"]
    for percent in (140, 145):
        run = cli.one(*options, "--budget", str(floor * percent // 100))
        assert run["feasible"], (percent, run)
        first, second = run["overhead_per_iteration"]
        assert first < 5 and second < 1.5, (percent, first, second)


def case_gradients_stay_where_rebuilds_have_room(cli):
    """Beside all gradients and the widest step of the forward, under policies that do not plan,
    too. They thrashed: each gradient of a lower layer that went was made again by itself."""
    path = cli.write("stackedlstm.log", dtr_logs.record("stackedlstm", 0.5))
    options = ("replay", path, "--swap", "off", "--iterations", "2")
    floor = cli.one(*options, "--budget", "110%")["floor_bytes"]
    for policy in ("dtr", "coop"):
        run = cli.one(*options, "--policy", policy, "--budget", str(floor * 3 // 2))
        assert run["feasible"] and run["overhead"] < 4, (policy, run)


def case_a_call_that_does_not_end_is_given_up(cli):
    """The first pass may take twenty times the program's time; one call of it would take all."""
    path = cli.write("tbptt.log", dtr_logs.record("tbptt", 0.3))
    options = ("replay", path, "--swap", "off", "--policy", "dtr", "--iterations", "3")
    floor = cli.one(*options, "--budget", "110%")["floor_bytes"]
    options += ("--budget", str(floor * 3 // 2))
    run = cli.one(*options)
    assert run["reason"] == "thrashed", run
    assert run["recompute_ns"] < 10 * run["base_time_ns"], run
    run = cli.one(*options, "--limit", "20")
    assert run["recompute_ns"] > 10 * run["base_time_ns"], "it ends, so this shows nothing"


def case_what_is_no_gradient_goes(cli):
    """A program that does not turn back: what it made late is not dearer than the rest. Kept for
    too long it has the first pass thrash."""
    path = cli.write("wild.log", dtr_logs.record("wild"))
    for budget in ("45%", "50%"):
        run = cli.one("replay", path, "--swap", "off", "--policy", "cebus", "--iterations", "2",
                      "--budget", budget)
        assert run["feasible"] and run["overhead"] < 1.1, (budget, run)


def case_seeds_draw(_cli):
    for family in dtr_logs.FAMILIES:
        if family in DRAWN:
            assert record(family) == record(family, seed=1) != record(family, seed=2), family
            Checker(record(family, seed=2)).check()


def generate(cli, *arguments):
    return subprocess.run([sys.executable, os.path.join(SUPPORT, "dtr_logs.py"), *arguments],
                          capture_output=True, check=False, encoding="utf-8", cwd=cli.folder)


def case_command_line(cli):
    done = generate(cli, "skips", "--scale", "0.1", "--seed", "3", "--batch", "2")
    assert done.returncode == 0 and done.stdout == record("skips", seed=3, batch=2), done.stderr
    done = generate(cli, "wild", "--scale", "0.1", "-o", "wild.log")
    with open(cli.path("wild.log"), encoding="utf-8") as file:
        assert done.stdout == "" and file.read() == record("wild")
    for family, option in (("mlp", "--seed"), ("wild", "--batch")):
        done = generate(cli, family, option, "2")
        assert done.returncode == 2 and f"{option}: {family} has none" in done.stderr, done


if __name__ == "__main__":
    main({name: case for name, case in list(globals().items())})
