#!/usr/bin/env python3
"""The forward of a trace of training, as inference runs it: its calls before the loss, running
statistics left alone, each value freed after its last reader.

usage: forward.py TRACE > FORWARD
"""
import json
import sys

LOSS = ("cross_entropy", "mse_loss")


def read_forward(path):
    """Lines of the trace before the first loss that matter to inference."""
    kept = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            item = json.loads(line)
            if item.get("name") in LOSS:
                return kept
            if item.get("name") != "batch_norm_running" and "free" not in item:
                kept.append(item)
    sys.exit(f"{path}: no loss ({', '.join(LOSS)}): this is no trace of training")


def last_reads(items):
    """value -> index of the item that reads it last, or makes it if nothing does."""
    last = {}
    for index, item in enumerate(items):
        for output in item.get("out", []):
            last[output["value"]] = index
        for value in item.get("in", []):
            last[value] = index
    return last


def main(path):
    items = read_forward(path)
    last = last_reads(items)
    lasting = {item["const"] for item in items if item.get("persistent")}
    for index, item in enumerate(items):
        print(json.dumps(item))
        named = set(item.get("in", [])) | {output["value"] for output in item.get("out", [])}
        for value in sorted(named - lasting):
            if last[value] == index:
                print(json.dumps({"free": value}))
    print('{"mark": 1}')


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
