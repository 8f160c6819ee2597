#!/usr/bin/env python3
"""Tests of least.py: the least memory of tiny programs, by a search over all states. Prints TAP."""
import contextlib
import io
import itertools
import os
import random
import sys
import tempfile
import unittest

import least
from bounds import exhaustive, tap, witness
from bounds.pebbles import Game, Search
from bounds.program import Program

ALL = "CEBUS_TEST_ALL" in os.environ


def bound_of(program, least_bytes=0, states=10**6, call=None):
    search = Search(Game(program, least_bytes), 0, states)
    return search.run(call), search


def least_of(program):
    """The truth."""
    low, high = 0, program.base_peak
    while low < high:
        middle = (low + high) // 2
        if exhaustive.least_recompute(program, middle) is None:
            low = middle + 1
        else:
            high = middle
    return low


def residual(blocks, size=10):
    """Blocks of two calls whose input is added to their output, forward and backward."""
    program = Program()
    x = program.add_op("input", 1, [], [size])[0]
    saved = []
    for _ in range(blocks):
        y = program.add_op("f", 1, [x], [size])[0]
        z = program.add_op("g", 1, [y], [size])[0]
        saved.append((x, y))
        x = program.add_op("add", 1, [x, z], [size])[0]
    gradient = program.add_op("loss", 1, [x], [size])[0]
    for x, y in reversed(saved):
        around = program.add_op("g'", 1, [gradient, y], [size])[0]
        around = program.add_op("f'", 1, [around, x], [size])[0]
        gradient = program.add_op("add", 1, [gradient, around], [size])[0]
    for v in range(len(program.values) - 1):
        program.release(v)
    return program.finish()


class Searched(unittest.TestCase):
    """Programs small enough to look at every state."""

    def test_all_values_tracked_is_the_truth(self):
        above = 0
        for seed in range(1500 if ALL else 150):
            rng = random.Random(seed)
            if seed % 2:
                program = witness.random_training(rng, rng.randint(2, 3), (1, 9))
            else:
                program = witness.random_program(rng, rng.randint(3, 9), 8, plain=True)
            bound, search = bound_of(program)
            self.assertEqual(bound, least_of(program), f"seed {seed}")
            self.assertEqual(search.open, 0)
            above += bound > program.floor()
        self.assertGreater(above, 15)

    def test_less_is_never_more(self):
        """Fewer values, fewer sets, one call, programs with writes and leaves."""
        for seed in range(600 if ALL else 60):
            rng = random.Random(seed)
            program = witness.random_program(rng, rng.randint(3, 8), 7, plain=seed % 2)
            truth = least_of(program)
            for least_bytes, states in itertools.product((0, 3, 5), (1, 3, 10**6)):
                bound, _ = bound_of(program, least_bytes, states)
                self.assertLessEqual(bound, truth, f"seed {seed}, {least_bytes}, {states}")
            for call in range(program.end + 1):
                self.assertLessEqual(bound_of(program, call=call)[0], truth, f"seed {seed}")

    def test_more_states_prove_more(self):
        """Of programs too large for the truth: not above what a random schedule takes."""
        for seed in range(100 if ALL else 20):
            rng = random.Random(seed)
            program = witness.random_training(rng, 12)
            bounds = [bound_of(program, 0, states)[0] for states in (1, 30, 2000)]
            self.assertEqual(bounds, sorted(bounds))
            for drop in (0.3, 0.8):
                self.assertLessEqual(bounds[-1], witness.Witness(program, rng, drop).peak)

    def test_sets_left_out_prove_nothing(self):
        """What is left out since a smaller set is known makes no difference."""
        for seed in range(3000 if ALL else 40):
            program = witness.random_training(random.Random(seed), 9)
            whole = Search(Game(program, 0), 0, 20000)
            whole.DROPS = 0
            self.assertEqual((whole.run(), whole.open), (bound_of(program)[0], 0), f"seed {seed}")


class Known(unittest.TestCase):
    def test_a_residual_block_takes_more_than_its_calls(self):
        """The gradient that waits beside the one that goes around; the block's input is a sum."""
        program = residual(6)
        self.assertEqual(program.floor(), 30)
        self.assertEqual(bound_of(program)[0], 40)
        self.assertEqual(bound_of(program, 11)[0], 30)

    def test_a_chain_takes_its_floor(self):
        program = Program()
        last = program.add_op("f", 1, [], [4])[0]
        for _ in range(20):
            last = program.add_op("f", 1, [last], [4])[0]
        self.assertEqual(bound_of(program.finish())[0], program.floor())

    def test_a_write_in_place_takes_no_room_of_its_own(self):
        program = Program()
        first = program.add_op("f", 1, [], [4])[0]
        program.add_op("g", 1, [first], [4])
        program.overwrite(first)
        program.release(first)
        self.assertEqual(bound_of(program.finish())[0], 4)


class Table(unittest.TestCase):
    """What least.py prints."""

    def run_it(self, *options):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = least.main(options)
            except SystemExit as error:
                status = error.code
        return status, out.getvalue(), err.getvalue()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "log")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write('{"cebus_trace": 1}\n')
            for i, bytes_ in enumerate((10, 20, 5), 1):
                file.write(f'{{"op": {i}, "in": {[i - 1] if i > 1 else []}, "cost_ns": 1, '
                           f'"out": [{{"value": {i}, "bytes": {bytes_}}}]}}\n')
            file.write('{"free": 1}\n{"free": 2}\n')

    def test_table(self):
        status, out, err = self.run_it(self.path, "--parts", "4,0")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("3 ops, floor 30 bytes", out)
        self.assertIn("| 7 | 2 | 30 | 1.0000 | - | ", out)
        self.assertIn("| 0 | 3 | 30 | 1.0000 | - | ", out)

    def test_errors(self):
        for options in (("--parts", "x"), ("--parts", "-1"), ("--states", "0"), ("--call", "4")):
            with self.subTest(options):
                status, _, err = self.run_it(self.path, *options)
                self.assertEqual(status, 2)
                self.assertTrue(err)
        status, _, err = self.run_it(self.path + "-")
        self.assertEqual(status, 1)
        self.assertIn("least.py: ", err)


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
