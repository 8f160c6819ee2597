#!/usr/bin/env python3
"""Tests of the common points of single values, and of where they are put. Prints TAP."""
import os
import random
import sys
import unittest

from bounds import exhaustive, tap, witness
from bounds.program import Program

try:
    from bounds.cuts import PathCut
    from bounds.late import Late
    from bounds.model import Model
    from bounds.outline import Outline
    from bounds.rounds import Bound, Rounds
    MISSING = None
except ImportError as error:
    MISSING = f"no SciPy: {error}"

ALL = "CEBUS_TEST_ALL" in os.environ
UNIT = 10**6  # ns; what costs are counted in below
LONG = 1e9  # s


def parted():
    """x is read by y at once and by the last op; y, then x are read after calls that need all of
    the 20 bytes."""
    program = Program()
    x = program.add_op("x", 10 * UNIT, [], [10])[0]
    y = program.add_op("y", UNIT, [x], [10])[0]
    for v in (y, x):
        full = program.add_op("full", 5 * UNIT, [], [20])[0]
        program.release(full)
        program.add_op("read", UNIT, [v], [])
        program.release(v)
    return program.finish()


@unittest.skipIf(MISSING, MISSING)
class Points(unittest.TestCase):
    def test_one_rerun_does_not_serve_uses_that_memory_parts(self):
        """x comes back for y before it is read, and again after what lies between. One common
        point does not know that, and what it says clashes there."""
        program = parted()
        steps, cut = range(program.end + 1), PathCut(None, None, 2, 3, (1, 0))
        model = Model(Outline(program), 20, steps, {2}, {0: {2}, 1: {2}}, (), [cut])
        bound = model.solve(LONG).bound * program.base_cost / UNIT
        self.assertAlmostEqual(bound, 11, places=3)
        self.assertEqual(Late(model).clashes([]).nonzero()[0].tolist(), [4])
        bound = Rounds(program).run(20, LONG)
        self.assertAlmostEqual(bound.value * program.base_cost / UNIT, 21, places=3)

    def test_whatever_the_points(self):
        """Any steps may be points of any values, and what is cut there holds."""
        cuts = 0
        for seed in range(1500 if ALL else 150):
            rng = random.Random(seed)
            program = witness.random_program(rng, rng.randint(3, 8), 9)
            outline = Outline(program)
            low = program.floor()
            budget = rng.randint(low, max(low, program.base_peak))
            least = exhaustive.least_recompute(program, budget)
            if least is None:
                continue
            rounds = self.rounds(rng, program, outline, budget)
            rounds._converge(0.0)
            cuts += len(rounds.cuts)
            self.assertLessEqual(rounds.bound.value * program.base_cost, least + 1, f"seed {seed}")
        self.assertGreater(cuts, 10)

    def rounds(self, rng, program, outline, budget):
        """Rounds that begin with points drawn by chance."""
        steps, rounds = range(program.end + 1), Rounds(program)
        commons = set(rng.sample(steps, rng.randint(0, len(steps))))
        rounds.points = {v: {step for step in commons if step > program.values[v].producer
                             and rng.random() < 0.5} for v in outline.tracked}
        rounds.budget, rounds.bound = budget, Bound()
        rounds.rows, rounds.commons, rounds.chained, rounds.cuts = set(steps), commons, set(), {}
        rounds.deadline = rounds.end = LONG
        rounds.deadlines = 0
        return rounds


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
