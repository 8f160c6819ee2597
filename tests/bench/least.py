#!/usr/bin/env python3
"""The least memory a trace can run in with recomputation alone: a bound below which nothing fits.

bounds/pebbles.py says what is searched and why it is a bound; bounds.md what it found.
"""
import argparse
import sys
import time

from bounds.command import status
from bounds.pebbles import Game, Search
from bounds.read import read


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("trace", metavar="TRACE")
    parser.add_argument("--format", choices=("cebus", "dtr"), help="(the first line tells)")
    parser.add_argument("--parts", default="4,8,16", metavar="LIST",
                        help="track values of at least this part of the floor, coarse to fine, 0 "
                        "for all (4,8,16)")
    parser.add_argument("--states", type=int, default=1000, metavar="N",
                        help="sets of values looked at for a call before it is given up (1000)")
    parser.add_argument("--call", type=int, metavar="N",
                        help="this call alone, from 0; the number of calls is the end")
    options = parser.parse_args(argv)
    try:
        options.parts = [int(part) for part in options.parts.split(",")]
    except ValueError:
        parser.error("--parts is not a list of whole numbers")
    if min(options.parts) < 0 or options.states < 1:
        parser.error("--parts and --states are not negative, nor is --states 0")
    return options


def name_of(program, step):
    if step is None:
        return "-"
    return f"{step} {program.ops[step].name}" if step < program.end else "the end"


def compute(options):
    program = read(options.trace, options.format)
    if options.call is not None and not 0 <= options.call <= program.end:
        raise ValueError(f"--call is between 0 and {program.end}")
    proven, floor = 0, program.floor()
    print(f"{options.trace}: {len(program.ops)} ops, floor {floor} bytes\n")
    print("| values of at least | tracked | least budget | of floor | raised last by call "
          "| sets | calls given up | s |")
    print("|---:|---:|---:|---:|---|---:|---:|---:|", flush=True)
    for part in options.parts:
        start = time.monotonic()
        least_bytes = floor // part if part else 0
        game = Game(program, least_bytes)
        search = Search(game, proven, options.states)
        proven = search.run(options.call)
        # Rounded down: it is a bound.
        print(f"| {least_bytes} | {len(game.bit_of)} | {proven} "
              f"| {proven * 10000 // floor / 10000:.4f} | {name_of(program, search.critical)} "
              f"| {search.states} | {search.open} | {time.monotonic() - start:.1f} |", flush=True)


def main(argv):
    return status("least.py", compute, arguments(argv))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
