#!/usr/bin/env python3
"""A model that does not fit: the same training in full memory and in 40% of it, bit for bit.

usage: does_not_fit.py [STEPS]
"""
import sys

from progress import bar, plot

import cebus


def train(steps, budget=None):
    """(losses, peak bytes) of a small GPT."""
    cebus.manual_seed(0)
    if budget is not None:
        cebus.set_budget(budget)
    model = cebus.models.GPT(vocabulary=32, length=48, width=48, depth=4, heads=4, dropout=0.1)
    optimizer = cebus.optim.AdamW(model.parameters(), lr=3e-3)
    cebus.reset_peak_memory_stats()
    losses = []
    for step in bar(steps):
        start = (step * 7) % 16
        line = (cebus.arange(48 * 16).reshape(16, 48) * 3 + start) % 29
        loss = model.loss(line[:, :-1], line[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, cebus.max_memory_allocated()


def main(steps=12):
    free, peak = train(steps)
    print(f"unlimited: loss {free[-1]:.4f}, peak {peak / 2**20:.1f} MiB")
    with cebus.record() as run:
        tight, less = train(steps, int(peak * 0.4))
    print(f"in 40%:    loss {tight[-1]:.4f}, peak {less / 2**20:.1f} MiB")
    print("the losses are", "equal to the bit" if free == tight else "DIFFERENT")
    print(plot(free))
    print(run.explain())
    print(cebus.memory_picture())
    return 0 if free == tight else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
