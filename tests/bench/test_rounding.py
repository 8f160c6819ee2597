#!/usr/bin/env python3
"""Tests of bounds/rounding.py: rounded rows against all whole points. Prints TAP."""
import itertools
import random
import sys
import unittest

from bounds import tap

try:
    from bounds.rounding import rounded
    MISSING = None
except ImportError as error:
    MISSING = f"no SciPy: {error}"

SLACK = 1e-8  # of the checks; the bounds are true to rounding


@unittest.skipIf(MISSING, MISSING)
class Rounding(unittest.TestCase):
    def test_every_whole_point_stays(self):
        """Rounded rows hold wherever the row does, and now and then cut into what lies between."""
        cut = 0
        for seed in range(300):
            rng = random.Random(seed)
            count = rng.randint(1, 6)
            sizes = [rng.randint(-20, 20) for _ in range(count)]
            room = rng.randint(min(0, sum(s for s in sizes if s < 0)), 40)
            unit = rng.randint(1, 20)
            shares, most = rounded(dict(enumerate(sizes)), room, unit)
            for point in itertools.product((0, 1), repeat=count):
                if sum(size * x for size, x in zip(sizes, point)) <= room:
                    self.assertLessEqual(sum(share * point[i] for i, share in shares.items()),
                                         most + SLACK, f"seed {seed}, {point}")
            for _ in range(20):
                point = [rng.random() for _ in sizes]
                if sum(size * x for size, x in zip(sizes, point)) <= room:
                    cut += sum(share * point[i] for i, share in shares.items()) > most + SLACK
        self.assertGreater(cut, 100)


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
