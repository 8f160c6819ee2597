#!/usr/bin/env python3
"""Digits told apart by LeNet. They are generated: seven strokes, shifted and with noise.

usage: digits.py [STEPS]
"""
import random
import sys

from progress import bar, plot

import cebus
from cebus import nn

# The strokes of a pocket calculator: top, upper left and right, middle, lower left and right, foot.
STROKES = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010",
           "1111111", "1111011"]
PLACES = [(4, 8, 1, 12), (4, 8, 9, 2), (4, 18, 9, 2), (12, 8, 2, 12), (13, 8, 9, 2), (13, 18, 9, 2),
          (21, 8, 2, 12)]


def digit(number, rng):
    """A picture as rows of numbers."""
    down, right = rng.randint(-3, 3), rng.randint(-3, 3)
    rows = [[rng.random() * 0.4 for _ in range(28)] for _ in range(28)]
    for stroke, (top, left, height, width) in zip(STROKES[number], PLACES):
        for i in range(height if stroke == "1" else 0):
            for j in range(width):
                rows[top + i + down][left + j + right] += 0.8
    return rows


def batch(n, rng):
    numbers = [rng.randrange(10) for _ in range(n)]
    return cebus.tensor([[digit(each, rng)] for each in numbers]), cebus.tensor(numbers)


def main(steps=60):
    cebus.manual_seed(0)
    rng, losses = random.Random(0), []
    model, criterion = cebus.models.LeNet(), nn.CrossEntropyLoss()
    optimizer = cebus.optim.Adam(model.parameters(), lr=2e-3)
    for _ in bar(steps):
        x, y = batch(24, rng)
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    x, y = batch(200, rng)
    with cebus.no_grad():
        right = (model(x).argmax(1) == y).float().mean().item()
    print(plot(losses))
    print(f"{right:.0%} of 200 new digits are told apart")
    return 0 if right > 0.5 else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
