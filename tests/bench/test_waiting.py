#!/usr/bin/env python3
"""Tests of waiting.py: what a backward keeps, counted by hand. Prints TAP."""
import contextlib
import io
import os
import sys
import tempfile
import unittest

import waiting
from bounds import tap
from bounds.program import Program


def chain(calls, size=10, weight=3, constant=5):
    """x0 -> x1 ... -> loss, and back; each call of the way back leaves a weight's gradient."""
    program = Program()
    shared = program.add_constant(constant, True)
    made = [program.add_op("input", 1, [], [size])[0]]
    for _ in range(calls):
        made.append(program.add_op("f", 1, [made[-1], shared], [size])[0])
    gradient = program.add_op("loss", 1, [made[-1]], [size])[0]
    program.release(made.pop())
    while made:
        back = program.add_op("f'", 1, [gradient, made[-1], shared], [size, weight])[0]
        program.release(gradient)
        program.release(made.pop())
        gradient = back
    program.release(gradient)
    return program.finish()


class Counted(unittest.TestCase):
    def test_the_turn_is_where_most_is_held(self):
        # Before the loss 4 inputs and x4; with it g4; then g3 and a weight's gradient.
        self.assertEqual(waiting.turn_of(chain(4)), 6)

    def test_gradients_wait_with_the_constant(self):
        # At the last call of all: two gradients on their way, three of weights, the constant.
        self.assertEqual(waiting.measure(chain(4))[0], 2 * 10 + 3 * 3 + 5)

    def test_a_step_of_the_forward_takes_what_it_reads_and_makes(self):
        # At the last call but one: g2 and g1, two of weights, x0 and x1, the constant.
        self.assertEqual(waiting.measure(chain(4))[1], 2 * 10 + 2 * 3 + 2 * 10 + 5)

    def test_longer_programs_need_more_for_weights_alone(self):
        short, long = waiting.measure(chain(10)), waiting.measure(chain(14))
        self.assertEqual([b - a for a, b in zip(short, long)], [4 * 3, 4 * 3])


class Command(unittest.TestCase):
    def test_a_trace_that_is_not_there_is_told(self):
        with tempfile.TemporaryDirectory() as folder, \
                contextlib.redirect_stderr(io.StringIO()) as said:
            code = waiting.main([os.path.join(folder, "none.log")])
        self.assertEqual(code, 1)
        self.assertIn("none.log", said.getvalue())


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
