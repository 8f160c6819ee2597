#!/usr/bin/env python3
"""The largest batch of BERT-base by the length of its sentences, in 12 GiB without giving anything
up, beside what unmodified TensorFlow 1.11 reached on a Titan X with 12 GB (the README of BERT's own
repository, google-research/bert, "Out-of-memory issues").

usage: PYTHONPATH=BUILD/bindings/python bert_lengths.py
"""
import cebus
from cebus.models import text
from cebus.models.bench import MODELS, Setup, sentences

from largest_batch import DEVICE, largest

PUBLISHED = {64: 64, 128: 32, 256: 16, 320: 14, 384: 12, 512: 6}


def main():
    cebus.configure(DEVICE, budget="12GiB")
    print("| length | TF, 12 GB | policy `none`, 12 GiB | ratio |\n|---|---|---|---|")
    for length, published in PUBLISHED.items():
        MODELS["bert"] = Setup(text.BERT, sentences(30522, length),
                               lambda model, *batch: model.loss(*batch), "adamw")
        found = largest("bert", 8 * published)
        print(f"| {length} | {published} | {found} | {found / published:.1f} |", flush=True)


if __name__ == "__main__":
    main()
