#!/usr/bin/env python3
"""Hard instances for `cebus pack` that are known to fit: a rectangle cut into pieces.

usage: pack_cuts.py WIDTH HEIGHT PIECES SEED [GRAIN [PINWHEELS [GONE]]] > OUT.csv

WIDTH of time by HEIGHT of bytes; sizes are multiples of GRAIN (default: 1). Of 100 cuts PINWHEELS
are of five pieces around a middle one, which no straight cut makes (default: 0), all others
straight. Of 100 pieces GONE are left out, which leaves room to spare (default: 0).
"""
import random
import sys

from pack_variants import write


def cut_straight(piece, grain, rng):
    """Two pieces, or None where there is no place to cut."""
    lower, upper, bottom, top = piece
    times, rows = upper - lower, (top - bottom) // grain
    if times < 2 and rows < 2:
        return None
    in_time = times > 1 if rng.random() < 0.5 else rows < 2
    if in_time:
        at = lower + rng.randrange(1, times)
        return [[lower, at, bottom, top], [at, upper, bottom, top]]
    at = bottom + rng.randrange(1, rows) * grain
    return [[lower, upper, bottom, at], [lower, upper, at, top]]


def cut_pinwheel(piece, grain, rng):
    """Five pieces, either way round, or None where there is no room for them."""
    lower, upper, bottom, top = piece
    times, rows = upper - lower, (top - bottom) // grain
    if times < 3 or rows < 3:
        return None
    left, right = (lower + at for at in sorted(rng.sample(range(1, times), 2)))
    low, high = (bottom + at * grain for at in sorted(rng.sample(range(1, rows), 2)))
    pieces = [[lower, right, bottom, low], [right, upper, bottom, high], [left, upper, high, top],
              [lower, left, low, top], [left, right, low, high]]
    if rng.random() < 0.5:
        pieces = [[lower + upper - end, lower + upper - start, under, over]
                  for start, end, under, over in pieces]
    return pieces


def cut(width, height, count, grain, pinwheels, rng):
    pieces = [[0, width, 0, height]]
    for _ in range(100 * count):
        if len(pieces) >= count:
            break
        # the larger of two, so that pieces stay comparable
        at = max(rng.randrange(len(pieces)), rng.randrange(len(pieces)),
                 key=lambda i: (pieces[i][1] - pieces[i][0]) * (pieces[i][3] - pieces[i][2]))
        made = None
        if rng.random() < pinwheels:
            made = cut_pinwheel(pieces[at], grain, rng)
        made = made or cut_straight(pieces[at], grain, rng)
        if made is not None:
            pieces[at:at + 1] = made
    return pieces


def main():
    if not 5 <= len(sys.argv) <= 8:
        sys.exit(__doc__)
    width, height, count, seed = (int(text) for text in sys.argv[1:5])
    grain, pinwheels, gone = [int(text) for text in sys.argv[5:]] + [1, 0, 0][len(sys.argv) - 5:]
    rng = random.Random(seed)
    pieces = cut(width, height, count, grain, pinwheels / 100, rng)
    pieces = [piece for piece in pieces if rng.random() >= gone / 100]
    write(pieces, rng)


if __name__ == "__main__":
    main()
