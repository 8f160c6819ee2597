#!/usr/bin/env python3
"""The largest batch that trains without giving anything up, on a simulated P100 with 16 GiB, beside
what unmodified TensorFlow reached there (Capuchin, ASPLOS 2020, its column TF).

usage: PYTHONPATH=BUILD/bindings/python largest_batch.py [BUDGET]
"""
import sys

import cebus

DEVICE = "sim:p100-16g"
PUBLISHED = {"vgg16": 228, "resnet50": 190, "resnet152": 86, "inceptionv3": 160, "inceptionv4": 88,
             "bert_base": 64, "densenet121": 70}


def fits(name, batch):
    try:
        cebus.models.bench(name, DEVICE, batch=batch, policy="none", steps=2)
    except cebus.OutOfMemoryError:
        return False
    return True


def largest(name, most):
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(name, middle) else (low, middle)
    return low


def main(budget="16GiB"):
    cebus.configure(DEVICE, budget=budget)
    print("| model | TF | policy `none` | ratio |\n|---|---|---|---|")
    for name, published in PUBLISHED.items():
        found = largest(name, 4 * published)
        print(f"| {name} | {published} | {found} | {found / published:.2f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
