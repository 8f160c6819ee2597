#!/usr/bin/env python3
"""An LSTM over sequences of different lengths: is the sum of the numbers even?

usage: lengths.py [STEPS]
"""
import random
import sys

from progress import bar, plot

import cebus
from cebus import nn
from cebus.nn.utils import rnn


class Parity(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.lstm, self.head = nn.LSTM(1, width), nn.Linear(width, 2)

    def forward(self, sequences):
        lengths = [len(each) for each in sequences]
        packed = rnn.pack_padded_sequence(rnn.pad_sequence(sequences), lengths,
                                          enforce_sorted=False)
        _, (h, _) = self.lstm(packed)
        return self.head(h[-1])


def main(steps=120):
    cebus.manual_seed(0)
    rng, losses, model = random.Random(0), [], Parity()
    optimizer = cebus.optim.Adam(model.parameters(), lr=2e-2)
    for _ in bar(steps):
        bits = [[rng.randrange(2) for _ in range(rng.randint(1, 4))] for _ in range(32)]
        x = [cebus.tensor(each).float().unsqueeze(1) for each in bits]
        y = cebus.tensor([sum(each) % 2 for each in bits])
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(plot(losses))
    return 0 if losses[-1] < losses[0] * 0.8 else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
