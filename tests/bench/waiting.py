#!/usr/bin/env python3
"""What a backward keeps beside what it works on: below that, gradients are made again and again.

For each trace, in floors, the most that is held at any call of
  waiting  constants and what the backward made and still has to read,
  easy     that, and the widest step of the forward up to where the backward is: what calls of the
           forward still read there, and what the call of the step makes.
In less than `easy` no rebuild gets through the forward without giving up something it has to come
back for; in less than `waiting` gradients go whatever the policy, and one may have most of the
program behind it. Of programs that turn back once: from where they hold most bytes.
"""
import argparse
import sys
from itertools import accumulate

from bounds.command import status
from bounds.read import read


def turn_of(program):
    """The op at which most bytes are held, the first of them."""
    change = [0] * (program.end + 2)
    for value in program.values:
        if not value.is_constant:
            change[value.producer] += value.bytes
            change[value.last_held + 1] -= value.bytes
    held = list(accumulate(change))
    return held.index(max(held))


def gradients(program, turn):
    """Bytes that ops after the turn made and somebody holds, at each op."""
    change = [0] * (program.end + 2)
    for value in program.values:
        if not value.is_constant and value.producer > turn:
            change[value.producer] += value.bytes
            change[value.last_held + 1] -= value.bytes
    return list(accumulate(change))


def widest_steps(program, turn):
    """For each op up to the turn the bytes of the widest step of the forward so far: what was made
    before and is read there or later, and what the op makes."""
    change = [0] * (turn + 2)
    for value in program.values:
        if value.is_constant or value.producer > turn:
            continue
        reads = [step for step in value.required if step <= turn]
        change[value.producer] += value.bytes
        change[max(reads + [value.producer]) + 1] -= value.bytes
    return list(accumulate(accumulate(change[:-1]), max))


def reach(program, turn):
    """For each op the last one of the forward that made something which is read there or later."""
    last = [0] * (program.end + 1)
    for value in program.values:
        reads = [step for step in value.required if turn < step < program.end]
        if reads and not value.is_constant and value.producer <= turn:
            last[reads[-1]] = max(last[reads[-1]], value.producer)
    return list(accumulate(reversed(last), max))[::-1]


def measure(program):
    """(waiting, easy), in bytes."""
    turn = turn_of(program)
    made, wide, last = gradients(program, turn), widest_steps(program, turn), reach(program, turn)
    after = range(turn + 1, program.end + 1)
    held = [program.constant_bytes[step] + made[step] for step in after]
    easy = [bytes_ + wide[last[step]] for bytes_, step in zip(held, after)]
    return max(held, default=0), max(easy, default=0)


def run(options):
    for path in options.traces:
        program = read(path, options.format)
        floor = program.floor()
        waiting, easy = (amount / floor for amount in measure(program))
        print(f"{path}: {len(program.ops)} ops, floor {floor} bytes, waiting {waiting:.2f}, "
              f"easy {easy:.2f} floors")


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("traces", metavar="TRACE", nargs="+")
    parser.add_argument("--format", choices=("cebus", "dtr"), help="(the first line tells)")
    return status("waiting.py", run, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
