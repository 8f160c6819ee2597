#!/usr/bin/env python3
"""The same iteration with its calls in another order that its data allow.

    reorder.py TRACE --order queue > OTHER

A trace of one iteration as trace_model writes it comes in; calls wait for who makes what they read,
and writes in place for those that read what they overwrite. Values are freed after their last call.

queue   what could run first runs first, as an engine with a queue of ready calls does (Kahn)
sums    the same, but large sums in place come only when nothing else could run: all terms of the
        gradients of weights that are used over and over wait for them, and the sums take turns
program as it is; values are freed after their last call
"""
import argparse
import collections
import json
import sys


def edges_of(ops):
    """By call: those that wait for it, and how many it waits for."""
    after, waits = [set() for _ in ops], [0] * len(ops)
    writer, readers = {}, collections.defaultdict(list)

    def wait(late, early):
        if early != late and late not in after[early]:
            after[early].add(late)
            waits[late] += 1

    for k, op in enumerate(ops):
        for value in op["in"]:
            if value in writer:
                wait(k, writer[value])
        for out in op["out"]:
            over = op["in"][out["alias_of"]] if "alias_of" in out else out["value"]
            for reader in readers.pop(over, []):
                wait(k, reader)
            if over in writer:
                wait(k, writer[over])
            writer[out["value"]] = k
        for value in op["in"]:
            readers[value].append(k)
    return after, waits


def by_queue(after, waits, ops):
    ready = collections.deque(k for k, n in enumerate(waits) if n == 0)
    while ready:
        k = ready.popleft()
        yield k
        for late in sorted(after[k]):
            waits[late] -= 1
            if waits[late] == 0:
                ready.append(late)


def by_sums(after, waits, ops, large=1 << 28):
    first, last = collections.deque(), collections.deque()

    def add(k):
        sums = any("alias_of" in out and out["bytes"] >= large for out in ops[k]["out"])
        (last if sums else first).append(k)

    for k, n in enumerate(waits):
        if n == 0:
            add(k)
    while first or last:
        k = (first or last).popleft()
        yield k
        for late in sorted(after[k]):
            waits[late] -= 1
            if waits[late] == 0:
                add(late)


def as_it_is(after, waits, ops):
    return range(len(ops))


def write(head, consts, ops, frees, order):
    print(json.dumps(head))
    for const in consts:
        print(json.dumps(const))
    left = collections.Counter()
    for op in ops:
        left.update(set(op["in"]) | {out["value"] for out in op["out"]})
    for k in order:
        op = ops[k]
        print(json.dumps(op))
        for value in sorted(set(op["in"]) | {out["value"] for out in op["out"]}):
            left[value] -= 1
            if left[value] == 0 and value in frees:
                print(json.dumps({"free": value}))


ORDERS = {"queue": by_queue, "sums": by_sums, "program": as_it_is}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--order", choices=ORDERS, default="queue")
    options = parser.parse_args()
    with open(options.trace, encoding="utf-8") as source:
        head, *rows = (json.loads(line) for line in source)
    consts = [row for row in rows if "const" in row]
    ops = [row for row in rows if "op" in row]
    marks = [row for row in rows if "mark" in row]
    frees = {row["free"] for row in rows if "free" in row}
    after, waits = edges_of(ops)
    order = list(ORDERS[options.order](after, waits, ops))
    if len(order) != len(ops):
        sys.exit("reorder.py: the calls wait for each other in a circle")
    write(head, consts, ops, frees, order)
    for mark in marks[-1:]:
        print(json.dumps(mark))


if __name__ == "__main__":
    main()
