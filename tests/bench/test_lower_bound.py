#!/usr/bin/env python3
"""Tests of lower_bound.py: traces whose optimum is known, and searches for it. Prints TAP."""
import contextlib
import io
import json
import os
import random
import sys
import tempfile
import unittest
from unittest import mock

import lower_bound
from bounds import exhaustive, tap, witness
from bounds.program import TraceError
from bounds.read_cebus import read_cebus
from bounds.read_dtr import read_dtr

try:
    from bounds import branching, rounds as bounds_rounds
    from bounds.anyorder import AnyOrder
    from bounds.linear import STOPPED, LinearProgram, Solution
    from bounds.rounds import Rounds
    MISSING = None
except ImportError as error:
    MISSING = f"no SciPy: {error}"

ALL = "CEBUS_TEST_ALL" in os.environ
SLACK = 1e-8  # of the checks; the bounds are true to rounding
SECONDS = 30
UNIT = 10**6  # ns; what costs are counted in below. A pass takes some ns beside its ops


def bound_of(program, budget, variant="recompute", rate=0.0):
    """The bound, as a part of one pass, and its status."""
    kind = AnyOrder if variant == "any-order" else Rounds
    bound = kind(program, rate).run(budget, SECONDS)
    return bound.value, bound.status


def write_lines(folder, lines):
    path = os.path.join(folder, "trace.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines((line if isinstance(line, str) else json.dumps(line)) + "\n"
                        for line in lines)
    return path


class Dtr:
    """Writes a small DTR log."""

    def __init__(self):
        self.lines = []

    def say(self, instruction, **fields):
        self.lines.append({"INSTRUCTION": instruction, **fields})
        return self

    def constant(self, name, size):
        return self.say("CONSTANT", NAME=name).say("MEMORY", NAME=name, MEMORY=str(size))

    def call(self, args, results, time, name="f"):
        """results: name -> bytes, or (bytes, index of the argument it is a view of)"""
        self.say("CALL", RESULT=list(results), NAME=name, ARGS=list(args),
                 TIME=str(time * UNIT))
        for result, size in results.items():
            size, alias = size if isinstance(size, tuple) else (size, -1)
            self.say("MEMORY", NAME=result, MEMORY=str(size))
            self.say("ALIAS", NAME=result, ALIAS=str(alias))
        return self

    def release(self, *names):
        for name in names:
            self.say("RELEASE", NAME=name)
        return self


class Traces(unittest.TestCase):
    """Reading."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def dtr(self, log):
        return read_dtr(write_lines(self.folder, log.lines))

    def cebus(self, *lines):
        return read_cebus(write_lines(self.folder, [{"cebus_trace": 1}, *lines]))


class Reading(Traces):
    def test_dtr_instructions(self):
        """Every kind: what precedes START is skipped, views and copies are references."""
        log = Dtr().say("ANYTHING").constant("old", 999).say("ANNOTATE", ANNOTATION="START")
        log.constant("x1", 100)
        log.call(["x1"], {"x2": 10}, 5).call(["x2"], {"x3": (10, 0)}, 1, "view")
        log.say("COPY", DST="x4", SRC="x2").release("x2", "x3")
        log.say("ANNOTATE", ANNOTATION="BACKWARD").release("before")
        log.say("MUTATE", NAME="add_", ARGS=["x4", "x1"], MUTATE=[0], TIME="7")
        log.call(["x4"], {"x5": 20, "x6": 0}, 3)
        log.say("COPY_FROM", DST="x5", SRC="x4").release("x6")
        program = self.dtr(log)
        self.assertEqual([op.is_view for op in program.ops], [False, True, False, False])
        self.assertEqual(program.base_cost, 9 * UNIT + 7 + 1)
        # Constant; x4 before and after the write; then x4, x5; x5's bytes go with COPY_FROM.
        self.assertEqual(program.base_peak, 100 + 10 + 20)
        self.assertEqual(program.need, [10, 0, 20, 30, 10])
        self.assertEqual(program.end_set, [2])
        self.assertEqual(program.floor(), 130)

    def test_cebus_items(self):
        """Leaves, persistent constants, writes in place, marks."""
        program = self.cebus(
            {"const": 1, "bytes": 100, "persistent": True}, {"const": 2, "bytes": 7},
            {"op": 1, "name": "f", "hash": "0", "in": [1, 2], "out": [{"value": 3, "bytes": 10}],
             "cost_ns": 4, "workspace": 5, "flags": ["rng"]},
            {"free": 2},
            {"op": 2, "in": [3, 3], "out": [], "cost_ns": 1},
            {"op": 3, "in": [3, 1], "out": [{"value": 5, "bytes": 10, "alias_of": 0}],
             "cost_ns": 2, "flags": ["mutates"]},
            {"free": 3},
            {"op": 4, "in": [1, 5], "out": [{"value": 1, "bytes": 100, "alias_of": 0}],
             "cost_ns": 0, "flags": ["mutates"]},
            {"free": 5}, {"mark": 1})
        self.assertEqual(program.base_peak, 122)
        # The write counts as out of place, but a schedule may do it in place.
        self.assertEqual(program.need, [15, 10, 20, 10, 0])
        self.assertEqual(program.least_need, [15, 10, 10, 10, 0])
        self.assertEqual(program.constant_bytes, [107, 100, 100, 100, 100])
        self.assertEqual([op.last_gap for op in program.ops], [3, 4, 3, 3])
        self.assertEqual(program.end_set, [])
        self.assertEqual(program.base_cost, 4 + 1 + 2 + 1 + 2)

    def test_a_write_over_what_is_read_again_is_out_of_place(self):
        lines = [{"op": 1, "in": [], "out": [{"value": 1, "bytes": 10}], "cost_ns": 1},
                 {"op": 2, "in": [1], "out": [{"value": 2, "bytes": 10, "alias_of": 0}],
                  "cost_ns": 1, "flags": ["mutates"]},
                 {"op": 3, "in": [1], "out": [], "cost_ns": 1}]
        self.assertEqual(self.cebus(*lines).least_need, [10, 20, 10, 20])
        self.assertEqual(self.cebus(*lines[:2], {"free": 1}).least_need, [10, 10, 10])
        self.assertEqual(self.cebus(*lines[:2]).least_need, [10, 20, 20])

    def test_what_cannot_be_made_again_is_in_the_floor(self):
        lines = [{"op": 1, "in": [], "out": [{"value": 1, "bytes": 50}], "cost_ns": 1,
                  "flags": ["nonreplayable"]},
                 {"op": 2, "in": [], "out": [{"value": 2, "bytes": 60}], "cost_ns": 1}, {"free": 2},
                 {"op": 3, "in": [1], "out": [], "cost_ns": 1}, {"free": 1}]
        program = self.cebus(*lines)
        self.assertEqual((program.floor(), program.floor(swapping=True)), (110, 60))
        lines[0]["flags"] = []
        self.assertEqual(self.cebus(*lines).floor(), 60)

    def test_held_across_a_write_is_in_the_floor(self):
        program = self.cebus(
            {"const": 1, "bytes": 1, "persistent": True},
            {"op": 1, "in": [1], "out": [{"value": 2, "bytes": 50}], "cost_ns": 1},
            {"op": 2, "in": [], "out": [{"value": 3, "bytes": 70}], "cost_ns": 1}, {"free": 3},
            {"op": 3, "in": [1], "out": [{"value": 1, "bytes": 1, "alias_of": 0}], "cost_ns": 1,
             "flags": ["mutates"]},
            {"op": 4, "in": [], "out": [{"value": 4, "bytes": 60}], "cost_ns": 1}, {"free": 4},
            {"op": 5, "in": [2], "out": [], "cost_ns": 1}, {"free": 2})
        self.assertEqual(program.floor(), 111)

    def test_cebus_errors(self):
        op = {"op": 1, "in": [], "out": [{"value": 1, "bytes": 1}], "cost_ns": 1}
        for line, what in (
                ("{\"op\": 1", "not JSON"), ("[1]", "not a JSON object"),
                ({"no": 1}, "one of the keys"),
                ({"free": 9}, "value 9 is not known"), ({**op, "in": [5]}, "value 5 is not known"),
                ({**op, "cost_ns": -1}, "cost_ns"), ({**op, "cost_ns": True}, "cost_ns"),
                ({**op, "out": [{"value": 1, "bytes": 2**63}]}, "bytes"),
                ({"const": 1, "bytes": -4}, "bytes"), ({"op": 1, "out": []}, "\"in\" is missing"),
                ({**op, "out": [3]}, "an output is not an object"), ({**op, "in": 3}, "list"),
                ({**op, "out": [{"value": 1, "bytes": 1}] * 2}, "made twice"),
                ({**op, "out": [{"value": 1, "bytes": 1, "alias_of": 0}]}, "alias_of"),
                ({**op, "flags": ["odd"]}, "odd"), ({"cebus_trace": 1}, "one of the keys"),
                ({"const": 1, "free": 1}, "one of the keys"),
                ("[" * 100000, "not JSON"), (" " * (5 << 20), "longer than")):
            with self.subTest(what), self.assertRaises(TraceError) as raised:
                self.cebus({"mark": 1}, line)
            self.assertIn("trace.jsonl:3: ", str(raised.exception))
            self.assertIn(what, str(raised.exception))
        with self.assertRaisesRegex(TraceError, ":4: value 1 was freed before"):
            self.cebus(op, {"free": 1}, {**op, "in": [1]})
        again = {**op, "op": 2, "in": [1], "out": [{"value": 1, "bytes": 1, "alias_of": 0}]}
        with self.assertRaisesRegex(TraceError, ":3: .* lacks the flag mutates"):
            self.cebus(op, again)
        again["flags"], again["out"][0]["bytes"] = ["mutates"], 2
        with self.assertRaisesRegex(TraceError, ":3: 2 bytes are written over value 1 of 1"):
            self.cebus(op, again)
        persistent = {"const": 1, "bytes": 1, "persistent": True}
        with self.assertRaisesRegex(TraceError, ":3: .* persistent"):
            self.cebus(persistent, {"free": 1})
        for lines, what in (([], "no ops"), ([{**op, "cost_ns": 0}], "no costs")):
            with self.assertRaisesRegex(TraceError, what):
                self.cebus(*lines)
        with self.assertRaisesRegex(TraceError, "--format dtr"):
            self.dtr_as_cebus()
        with self.assertRaisesRegex(TraceError, "absent"):
            read_cebus(os.path.join(self.folder, "absent"))

    def dtr_as_cebus(self):
        read_cebus(write_lines(self.folder, Dtr().constant("x1", 1).lines))

    def test_dtr_errors(self):
        begin = Dtr().constant("x1", 1).call(["x1"], {"x2": 1}, 1).lines
        for lines, what in (
                (Dtr().call(["x9"], {"x3": 1}, 1), "'x9' is not known"),
                (Dtr().call(["x1"], {"x2": 1}, 1), "'x2' is made twice"),
                (Dtr().call(["x1"], {"x3": (1, 1)}, 1), "ALIAS"),
                (Dtr().call(["x1"], {"x3": -1}, 1), "MEMORY"),
                (Dtr().say("JUMP"), "JUMP"), (Dtr().say("CONSTANT", NAME="x3"), "MEMORY of x3"),
                (Dtr().release("x2", "x2"), "'x2' was released before"),
                (Dtr().say("MUTATE", NAME="f", ARGS=["x2"], MUTATE=[1], TIME="1"), "MUTATE"),
                (Dtr().say("CALL", RESULT=["x3"], NAME="f", ARGS=[], TIME="1.5"), "TIME"),
                (Dtr().call([], {}, 1), "no RESULT"),
                (Dtr().say("COPY_FROM", DST="x3", SRC="x2"), "'x3' is not known")):
            with self.subTest(what), self.assertRaises(TraceError) as raised:
                read_dtr(write_lines(self.folder, begin + lines.lines))
            self.assertIn("trace.jsonl:", str(raised.exception))
            self.assertIn(what, str(raised.exception))


@unittest.skipIf(MISSING, MISSING)
class Known(Traces):
    """Optima that one can see."""

    def check(self, program, budget, cost, variant="recompute", rate=0.0, places=4):
        """The bound is the optimum."""
        value, _ = bound_of(program, budget, variant, rate)
        self.assertAlmostEqual(value * program.base_cost / UNIT, cost, places=places)

    def test_nothing_is_free_of_charge_above_the_peak(self):
        program = self.dtr(Dtr().call([], {"x1": 10}, 5).call(["x1"], {"x2": 10}, 7))
        self.check(program, program.base_peak, 0)

    def test_one_value_is_made_again(self):
        log = Dtr().call([], {"x1": 10}, 5).call([], {"x2": 20}, 7).release("x2")
        log.call(["x1"], {"x3": 0}, 1).release("x1", "x3")
        for budget, cost in ((30, 0), (20, 5)):
            self.check(self.dtr(log), budget, cost)
            self.check(self.dtr(log), budget, 0, "any-order")

    def test_any_order_where_the_order_is_forced(self):
        log = Dtr().call([], {"x1": 10}, 5).call(["x1"], {"x2": 0, "s": 20}, 7)
        log.call(["s"], {"x3": 1, "x4": 21}, 7).release("s").call(["x3", "x4"], {"x5": 0}, 2)
        log.release("x4").call(["x1", "x5"], {"x6": 0}, 1).release("x1", "x3", "x2", "x5", "x6")
        for variant in ("recompute", "any-order"):
            self.check(self.dtr(log), 42, 5, variant)
            self.check(self.dtr(log), 52, 0, variant)

    def test_what_is_not_read_again_goes_for_nothing(self):
        log = Dtr().call([], {"x1": 10}, 5).call([], {"x2": 20}, 7).release("x1", "x2")
        program = self.dtr(log)
        self.assertEqual(program.base_peak, 30)
        self.check(program, 20, 0)

    def test_the_end_needs_what_is_still_referenced(self):
        program = self.dtr(Dtr().call([], {"x1": 10}, 5).call([], {"x2": 20}, 7).release("x2"))
        self.check(program, 20, 5)

    def test_one_rerun_serves_all_outputs(self):
        log = Dtr().call([], {"x1": 10, "x2": 10}, 5).call([], {"x3": 20}, 7).release("x3")
        log.call(["x1", "x2"], {"x4": 0}, 1).release("x1", "x2", "x4")
        self.check(self.dtr(log), 20, 5)

    def test_the_cheaper_of_two_goes(self):
        log = Dtr().call([], {"x1": 10}, 5).call([], {"x2": 10}, 3).call([], {"x3": 10}, 7)
        log.release("x3").call(["x1", "x2"], {"x4": 0}, 1).release("x1", "x2", "x4")
        self.check(self.dtr(log), 20, 3)

    def test_an_absent_parent_is_made_again_too(self):
        """x2 needs x1, which nobody else reads: the simple form alone would say 3."""
        log = Dtr().call([], {"x1": 10}, 5).call(["x1"], {"x2": 10}, 3).release("x1")
        log.call([], {"x3": 20}, 7).release("x3").call(["x2"], {"x4": 0}, 1).release("x2", "x4")
        self.check(self.dtr(log), 20, 8)

    def test_a_long_chain_of_absent_parents(self):
        log, names = Dtr().call([], {"y0": 10}, 2), ["y0"]
        for i in range(1, 30):
            names.append(f"y{i}")
            log.call([names[-2]], {names[-1]: 10}, 2).release(names[-2])
        log.call([], {"big": 20}, 7).release("big").call(["y29"], {"z": 0}, 1).release("y29", "z")
        self.check(self.dtr(log), 20, 60)

    def test_a_view_is_its_storage(self):
        log = Dtr().call([], {"x1": 10}, 5).call(["x1"], {"v": (10, 0)}, 4).release("x1")
        log.call([], {"x2": 20}, 7).release("x2").call(["v"], {"x3": 0}, 1).release("v", "x3")
        self.check(self.dtr(log), 20, 5)

    def test_constants_stay(self):
        log = Dtr().constant("c", 10).call(["c"], {"x1": 10}, 5).release("c")
        log.call([], {"x2": 20}, 7).release("x2").call(["x1"], {"x3": 0}, 1).release("x1", "x3")
        program = self.dtr(log)
        self.assertEqual((program.base_peak, program.floor()), (40, 30))
        self.check(program, 30, 5)

    def test_a_rerun_needs_room_beside_what_is_kept(self):
        """At x3 one of x1 and x2 is absent. Making x1 again takes all memory, so x2 goes, too, and
        is dear."""
        log = [{"op": 1, "in": [], "out": [{"value": 1, "bytes": 10}], "cost_ns": 1,
                "workspace": 20},
               {"op": 2, "in": [], "out": [{"value": 2, "bytes": 10}], "cost_ns": 100},
               {"op": 3, "in": [], "out": [{"value": 3, "bytes": 20}], "cost_ns": 7}, {"free": 3},
               {"op": 4, "in": [1, 2], "out": [], "cost_ns": 1}, {"free": 1}, {"free": 2}]
        program = self.cebus(*log)
        self.assertEqual(exhaustive.least_recompute(program, 30), 100)
        value, _ = bound_of(program, 30)
        self.assertAlmostEqual(value * program.base_cost, 100, delta=0.01)

    def kept_over_a_call(self, sizes):
        """Values that cost as many units as they have bytes, a call of 100 bytes, a use of all."""
        log, names = Dtr(), [f"x{i}" for i in range(len(sizes))]
        for name, size in zip(names, sizes):
            log.call([], {name: size}, size)
        log.call([], {"big": 100}, 7).release("big").call(names, {"y": 0}, 1)
        return self.dtr(log.release(*names, "y"))

    def test_memory_holds_whole_values(self):
        """At 115 half a value too many is there, so all of one goes, which rounding alone tells."""
        program = self.kept_over_a_call((10, 10))
        self.assertEqual(exhaustive.least_recompute(program, 115), 10 * UNIT)
        self.check(program, 115, 10)
        with mock.patch.object(Rounds, "_branch"):
            self.check(program, 115, 10)

    def test_values_are_there_or_not(self):
        """Room for 40 of 63 bytes: of 14, 15, 16, 18 the least that are 23 are 29."""
        program = self.kept_over_a_call((14, 15, 16, 18))
        self.assertEqual(exhaustive.least_recompute(program, 140), 29 * UNIT)
        self.check(program, 140, 29, places=1)
        with mock.patch.object(Rounds, "_branch"):
            value, _ = bound_of(program, 140)
        self.assertLess(value * program.base_cost, 28.9 * UNIT)

    def test_branching_at_points(self):
        """Facts of the steps at which most is open suffice here; many facts are too many."""
        program = self.kept_over_a_call((14, 15, 16, 18))
        with mock.patch.object(Rounds, "_branch"):
            with mock.patch.object(branching, "FEW", 0):
                self.check(program, 140, 29, places=1)

    def test_what_is_not_branched_on_has_all_the_time(self):
        """Too large to be branched on, a program may be solved until all of the time is over."""
        program, stopped = self.kept_over_a_call((14, 15, 16, 18)), Solution(STOPPED)
        for branched, has_time in ((bounds_rounds.BRANCHED, False), (-1, True)):
            with mock.patch.object(LinearProgram, "solve", return_value=stopped) as solve, \
                    mock.patch.object(bounds_rounds, "LINEAR_PART", 0.0), \
                    mock.patch.object(bounds_rounds, "BRANCHED", branched):
                Rounds(program).run(140, SECONDS)
            self.assertEqual(solve.call_args[0][0] > 0, has_time)

    def test_points_that_bring_little_are_left(self):
        """Branching begins with the last stage that was worth it, and ends with the last."""
        rounds = Rounds(self.kept_over_a_call((14, 15, 16, 18)))
        rounds.bound, rounds.last, rounds.commons = mock.Mock(value=0.5), "early", {3}
        rounds.rows = rounds.points = rounds.cuts = {}
        rounds.paid = None
        rounds._keep_paid(0.4)
        for value, last, stages in ((0.5001, "late", ["early", "late"]), (0.6, "later", ["later"])):
            before, rounds.bound.value, rounds.last = rounds.bound.value, value, last
            rounds._keep_paid(before)
            self.assertEqual([stage[1] for stage in rounds._stages_to_branch()], stages)

    def swapped(self):
        """x1 is made in 10, idle for 4, absent for 6, idle for 8, then read."""
        log = Dtr().call([], {"x1": 10}, 10).call([], {"t": 0}, 4).call([], {"x2": 20}, 6)
        log.release("x2").call([], {"u": 0}, 8).call(["x1", "t", "u"], {"x3": 0}, 1)
        return self.dtr(log.release("x1", "t", "u", "x3"))

    def test_a_copy_that_hides_costs_nothing(self):
        self.check(self.swapped(), 20, 0, "hybrid", 2.5 / UNIT)
        self.check(self.swapped(), 20, 10, "recompute")

    def test_a_copy_that_does_not_hide_stalls(self):
        """10 bytes at 2 a unit take 5 where there are 4."""
        program = self.swapped()
        self.assertEqual(exhaustive.least_time(program, 20, 2, tick=UNIT), 29 + 1)
        self.check(program, 20, 1, "hybrid", 2.0 / UNIT)

    def test_a_leaf_may_be_copied_but_not_dropped(self):
        program = self.cebus(
            {"const": 1, "bytes": 10},
            {"op": 1, "in": [1], "out": [{"value": 2, "bytes": 0}], "cost_ns": 10 * UNIT},
            {"op": 2, "in": [], "out": [{"value": 3, "bytes": 20}], "cost_ns": 10 * UNIT},
            {"free": 3},
            {"op": 3, "in": [1, 2], "out": [], "cost_ns": 10 * UNIT}, {"free": 1}, {"free": 2})
        self.assertEqual((program.base_peak, program.floor()), (30, 30))
        self.check(program, 20, 0, "hybrid", 1e-3)

    def test_the_infeasible_is_told(self):
        program = self.dtr(Dtr().call([], {"x1": 10}, 5).call(["x1"], {"x2": 10}, 7))
        self.assertEqual(program.floor(), 20)
        self.assertIsNone(exhaustive.least_recompute(program, 19))


@unittest.skipIf(MISSING, MISSING)
class Searched(unittest.TestCase):
    """Random programs: the bound is never above the optimum, or above what any schedule pays."""

    def cases(self, count, ops, values, **kinds):
        """(program, budget) of random programs."""
        for seed in range(count * (10 if ALL else 1)):
            rng = random.Random(seed)
            program = witness.random_program(rng, rng.randint(3, ops), values, **kinds)
            low = program.floor(swapping=True)
            for budget in {low, rng.randint(low, max(low, program.base_peak))}:
                yield seed, program, budget

    def check(self, seed, program, budget, least, variant="recompute", rate=0.0):
        """Returns whether the bound is the optimum, None where there is none."""
        floor = (AnyOrder if variant == "any-order" else Rounds)(program, rate).least_budget()
        if budget < floor:
            self.assertIsNone(least, f"seed {seed}: {budget} is below the least, {floor}")
            return None
        value, status = bound_of(program, budget, variant, rate)
        if least is None:
            return None
        self.assertNotEqual(status, "infeasible", f"seed {seed}, budget {budget}")
        optimum = least / program.base_cost
        self.assertLessEqual(value, optimum + SLACK, f"seed {seed}, budget {budget}, rate {rate}")
        return optimum - value < 1e-4 and least > 0

    def test_branching_at_points(self):
        """What facts of some steps prove is no more than all facts do, and now and then more than
        the linear program does."""
        more = 0
        with mock.patch.object(Rounds, "_branch"):
            for seed, program, budget in self.cases(60, 8, 8):
                if budget < Rounds(program).least_budget():
                    continue
                least = exhaustive.least_recompute(program, budget)
                plain = bound_of(program, budget)[0]
                with mock.patch.object(branching, "FEW", 0):
                    self.check(seed, program, budget, least)
                    more += bound_of(program, budget)[0] > plain + 1e-4
        self.assertGreater(more, 0)

    def test_recompute(self):
        equal = [self.check(seed, program, budget, exhaustive.least_recompute(program, budget))
                 for seed, program, budget in self.cases(300, 8, 9)]
        self.assertGreater(sum(map(bool, equal)), 60)

    def test_any_order(self):
        equal = 0
        for seed, program, budget in self.cases(150, 6, 7):
            least = exhaustive.least_recompute(program, budget, any_order=True)
            equal += bool(self.check(seed, program, budget, least, "any-order"))
        self.assertGreater(equal, 0)

    def timed(self, count, ops, variant):
        for seed, program, budget in self.cases(count, ops, ops, sizes=(1, 3), unit=2, tick=UNIT,
                                                plain=True):
            rate = 1 + seed % 2  # bytes a tick
            least = exhaustive.least_time(program, budget, rate, variant == "any-order", UNIT)
            if least is not None:
                least = least * UNIT - sum(op.cost for op in program.ops)
            self.check(seed, program, budget, least, variant, rate / UNIT)

    def test_hybrid(self):
        self.timed(40, 5, "hybrid")

    def test_any_order_with_copies(self):
        self.timed(30, 4, "any-order")

    def witnesses(self, count, variant, rates=(0.0,)):
        """Returns how many bounds were above zero."""
        positive = 0
        for seed in range(count * (10 if ALL else 1)):
            rng = random.Random(seed)
            rate = rng.choice(rates)
            program = witness.random_training(rng, rng.choice([4, 8, 15, 30]))
            ordered = witness.reorder(program, rng) if variant == "any-order" else program
            drop = rng.choice([0.1, 0.3, 0.6, 0.9])
            part = 0.3 if rate else 1.0
            schedule = witness.Witness(ordered, rng, drop * part, drop * (1.0 - part), rate)
            value, status = bound_of(program, schedule.peak, variant, rate)
            self.assertNotEqual(status, "infeasible", f"seed {seed}")
            self.assertLessEqual(value, schedule.overhead + SLACK, f"seed {seed}")
            positive += value > 0
        return positive

    def test_witnesses(self):
        self.assertGreater(self.witnesses(100, "recompute"), 10)

    def test_witnesses_that_swap(self):
        self.assertGreater(self.witnesses(50, "hybrid", (0.2, 0.5, 1.0)), 0)

    def test_witnesses_of_another_order(self):
        self.assertGreater(self.witnesses(50, "any-order"), 0)

    def test_less_memory_is_never_better(self):
        rng = random.Random(7)
        program = witness.random_training(rng, 15)
        values = [bound_of(program, budget)[0]
                  for budget in range(program.base_peak, program.floor() - 1, -10)]
        self.assertGreater(values[-1], 0.1)
        for before, after in zip(values, values[1:]):
            self.assertLessEqual(before, after + 2e-3)  # stages may end a little early


@unittest.skipIf(MISSING, MISSING)
class Command(Traces):
    """The program as its users run it."""

    def run_it(self, *options):
        """(exit status, standard output, standard error)"""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = lower_bound.main(list(options))
            except SystemExit as left:
                status = left.code
        return status, out.getvalue(), err.getvalue()

    def trace(self):
        log = Dtr().call([], {"x1": 10}, 5).call([], {"x2": 20}, 7).release("x2")
        return write_lines(self.folder, log.call(["x1"], {"x3": 0}, 1).release("x1", "x3").lines)

    def test_json_and_table(self):
        path, result = self.trace(), os.path.join(self.folder, "bounds.json")
        status, out, _ = self.run_it(path, "--format", "dtr", "--budget", "100%,20,60%..50%:10%",
                                     "--json", result)
        self.assertEqual(status, 0)
        with open(result, encoding="utf-8") as file:
            found = json.load(file)
        points = found.pop("points")
        self.assertEqual(found, {"cebus_bounds": 1, "trace": path, "base_peak": 30, "floor": 20,
                                 "variant": "recompute", "link_bytes_per_s": None})
        overhead = points[1].pop("overhead")
        self.assertAlmostEqual(overhead, 1 + 5 / 13, places=5)
        self.assertLessEqual(overhead, 1 + 5 / 13)
        self.assertEqual(points, [
            {"budget": "100%", "budget_bytes": 30, "overhead": 1.0, "status": "optimal"},
            {"budget": "20", "budget_bytes": 20, "status": "optimal"},
            {"budget": "60%", "budget_bytes": 18, "overhead": None, "status": "infeasible"},
            {"budget": "50%", "budget_bytes": 15, "overhead": None, "status": "infeasible"}])
        self.assertIn("| 50% | 15 | - | - | infeasible |", out)
        self.assertIn("base peak 30 bytes, floor 20 bytes", out)

    def test_variants(self):
        path, result = self.trace(), os.path.join(self.folder, "bounds.json")
        for variant, rate in (("hybrid", 12e9), ("any-order", 12e9)):
            status, _, _ = self.run_it(path, "--budget", "21", "--variant", variant,
                                       "--json", result)
            self.assertEqual(status, 0)
            with open(result, encoding="utf-8") as file:
                found = json.load(file)
            self.assertEqual((found["variant"], found["link_bytes_per_s"]), (variant, rate))
            self.assertEqual(found["points"][0]["overhead"], 1.0)

    def test_wrong_options(self):
        path = self.trace()
        for options in (["--budget", "40 %x"], ["--budget", "0%"], ["--budget", "90%..50%:0%"],
                        ["--budget", "90%..50%:x"], ["--budget", "1e999999"],
                        ["--budget", "9" * 30], ["--budget", "1..2%..3%:1%"],
                        ["--budget", "50%", "--variant", "hybrid", "--link-gbps", "0"],
                        ["--budget", "50%", "--seconds", "0"], []):
            with self.subTest(options):
                status, out, err = self.run_it(path, "--format", "dtr", *options)
                self.assertEqual((status, out), (2, ""))
                self.assertTrue(err)
        status, _, err = self.run_it(path, "--budget", "50%", "--format", "cebus")
        self.assertEqual(status, 1)
        self.assertIn("--format dtr", err)

    def test_time_limit(self):
        """What is proven in no time is a bound all the same."""
        program = witness.random_training(random.Random(1), 40)
        bound = Rounds(program).run(program.floor() + 5, 1e-9)
        self.assertIn(bound.status, ("simple", "time"))
        full = Rounds(program).run(program.floor() + 5, SECONDS)
        self.assertLessEqual(bound.value, full.value)


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
