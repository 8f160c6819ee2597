#!/usr/bin/env python3
"""A GPT that learns to spell a text, character by character.

usage: char_gpt.py [STEPS]
"""
import sys

from progress import bar, plot

import cebus

TEXT = ("the tensor that was dropped comes back when it is read, bit for bit, and the budget "
        "holds. ")


def main(steps=150):
    cebus.manual_seed(1)
    letters = sorted(set(TEXT))
    text = cebus.tensor([letters.index(c) for c in TEXT * 4])
    model = cebus.models.GPT(len(letters), 32, 64, 2, 4, dropout=0.0)
    optimizer = cebus.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for _ in bar(steps):
        starts = cebus.randint(0, len(text) - 33, (8,)).tolist()
        batch = cebus.stack([text[i:i + 33] for i in starts])
        loss = model.loss(batch[:, :-1], batch[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        cebus.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    print(plot(losses))
    print("".join(letters[i] for i in sample(model, text[:16].tolist(), 60)))
    return 0 if losses[-1] < losses[0] / 2 else 1


@cebus.no_grad()
def sample(model, symbols, count):
    """The likeliest continuation."""
    for _ in range(count):
        logits = model(cebus.tensor([symbols[-32:]]))[0, -1]
        symbols.append(int(logits.argmax()))
    return symbols


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
