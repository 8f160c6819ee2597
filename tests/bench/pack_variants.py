#!/usr/bin/env python3
"""Hard instances for `cebus pack` that are known to fit: variants of a packing.

usage: pack_variants.py CEBUS CAPACITY IN.csv KINDS SEED > OUT.csv

IN.csv is packed first. Each letter of KINDS then changes the packing in turn, so that it stays one:
  s  heights are stretched by a random map that keeps their order
  p  a quarter of the blocks are cut in two, in time or in height
  m  up to thirty pairs that touch along a whole side become one
"""
import bisect
import csv
import os
import random
import subprocess
import sys
import tempfile

UNIT = 1024
KNOTS = 16


def packed(program, capacity, path):
    """[lower, upper, bottom, top] of each block."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "packed.csv")
        subprocess.run([program, "pack", "--capacity", str(capacity), path, "-o", out], check=True,
                       stdout=subprocess.DEVNULL)
        with open(out, encoding="utf-8") as file:
            rows = [{key: int(row[key]) for key in ("lower", "upper", "offset", "size")}
                    for row in csv.DictReader(file)]
    return [[row["lower"], row["upper"], row["offset"], row["offset"] + row["size"]]
            for row in rows]


def stretch(blocks, capacity, rng):
    weights = [rng.expovariate(1) ** 2 + 0.05 for _ in range(KNOTS)]
    before = [capacity * i // KNOTS for i in range(KNOTS + 1)]
    after = [capacity * sum(weights[:i]) / sum(weights) for i in range(KNOTS + 1)]

    def move(height):
        k = min(bisect.bisect_right(before, height), KNOTS) - 1
        part = (height - before[k]) / (before[k + 1] - before[k])
        return round((after[k] + part * (after[k + 1] - after[k])) / UNIT) * UNIT

    moved = [[lower, upper, move(bottom), move(top)] for lower, upper, bottom, top in blocks]
    return [block for block in moved if block[3] > block[2]]


def split(blocks, _, rng):
    for _ in range(len(blocks) // 4):
        block = rng.choice(blocks)
        low, step = rng.choice(((0, 1), (2, UNIT)))
        cuts = (block[low + 1] - block[low]) // step
        if cuts < 2:
            continue
        cut = block[low] + rng.randrange(1, cuts) * step
        other = list(block)
        block[low + 1] = other[low] = cut
        blocks.append(other)
    return blocks


def touching(blocks, rng):
    """Two that make a rectangle, and that."""
    for a in rng.sample(blocks, len(blocks)):
        for b in blocks:
            if a[2:] == b[2:] and a[1] == b[0]:
                return a, b, [a[0], b[1], *a[2:]]
            if a[:2] == b[:2] and a[3] == b[2]:
                return a, b, [*a[:2], a[2], b[3]]
    return None


def merge(blocks, _, rng):
    for _ in range(30):
        found = touching(blocks, rng)
        if found is None:
            break
        a, b, both = found
        blocks = [block for block in blocks if block is not a and block is not b] + [both]
    return blocks


def write(blocks, rng):
    """In any order: (lower, upper, bottom, top) each."""
    rng.shuffle(blocks)
    print("id,lower,upper,size")
    for i, (lower, upper, bottom, top) in enumerate(blocks):
        print(f"{i},{lower},{upper},{top - bottom}")


def main():
    if len(sys.argv) != 6 or not set(sys.argv[4]) <= set("spm"):
        sys.exit(__doc__)
    program, capacity, path, kinds, seed = sys.argv[1:]
    rng = random.Random(f"{kinds}{seed}")
    blocks = packed(program, capacity, path)
    for kind in kinds:
        blocks = {"s": stretch, "p": split, "m": merge}[kind](blocks, int(capacity), rng)
    write(blocks, rng)


if __name__ == "__main__":
    main()
