#!/usr/bin/env python3
"""U-Net that finds circles among squares, pixel by pixel, within a budget.

usage: shapes.py [STEPS]
"""
import sys

from progress import bar, plot

import cebus
from cebus import nn


def batch(n, side=32):
    """Pictures [n, 1, side, side] and masks of the circles in them."""
    rows = cebus.arange(side).reshape(1, side, 1)
    columns = cebus.arange(side).reshape(1, 1, side)

    def apart(low, high):
        y, x, r = (cebus.randint(a, b, (n, 1, 1)) for a, b in ((8, 24), (8, 24), (low, high)))
        return (rows - y).abs(), (columns - x).abs(), r
    dy, dx, r = apart(4, 8)
    circles = dy * dy + dx * dx <= r * r
    dy, dx, r = apart(2, 5)
    squares = (dy <= r) & (dx <= r) & ~circles
    picture = (circles | squares).float() + 0.2 * cebus.randn(n, side, side)
    return picture.unsqueeze(1), circles.float().unsqueeze(1)


def main(steps=40):
    cebus.manual_seed(0)
    cebus.set_budget("48MiB")
    model = cebus.models.UNet(inputs=1, width=8, depth=2)
    optimizer = cebus.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in bar(steps):
        x, y = batch(8)
        loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(plot(losses))
    print(cebus.memory_picture())
    return 0 if losses[-1] < losses[0] * 0.7 else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
