#!/usr/bin/env python3
"""Writes a log of the DTR simulator for a model: structure, bytes and times, nothing computed.

Eight models are those of the published logs, with their settings; op counts, peak, constants
and the largest op come within a few percent of them (ResNet-32 (56),
DenseNet-121 (84), InceptionV4 (64), U-Net (6), Transformer (10), LSTM (512), TreeLSTM (D.6),
Unrolled GAN). The others are shapes that a policy may meet besides. --scale below 1 shortens
what repeats: blocks, layers, steps, levels (U-Net, GAN: their width); --batch sets the batch,
--seed what is drawn by chance. The same arguments give the same bytes.
"""
import argparse
import inspect
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "dtr"))

import images                  # noqa: E402
import networks                # noqa: E402
import recurrent               # noqa: E402
import sequences               # noqa: E402
import wild                    # noqa: E402
from recorder import Recorder  # noqa: E402

PUBLISHED = {
    "resnet32": images.resnet32,
    "densenet121": images.densenet121,
    "inceptionv4": images.inception_v4,
    "unet": images.unet,
    "transformer": sequences.transformer,
    "lstm": sequences.lstm,
    "treelstm": sequences.treelstm,
    "unrolledgan": sequences.unrolled_gan,
}
OTHERS = {model.__name__: model for model in (
    networks.mlp, networks.dense, networks.multitask, networks.moe, networks.resnet,
    networks.skips, networks.inference, networks.accumulate, networks.gan,
    recurrent.stackedlstm, recurrent.gru, recurrent.bilstm, recurrent.tbptt, recurrent.encdec,
    recurrent.tree, recurrent.randomtree, wild.wild, wild.wildtrain)}
FAMILIES = {**PUBLISHED, **OTHERS}


def record(family, scale=1.0, **options):
    """The text of the log. What the model still holds at the end stays referenced in it."""
    with Recorder() as rec:
        alive = FAMILIES[family](rec, scale, **options)
    del alive
    return rec.text()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", choices=sorted(FAMILIES))
    parser.add_argument("--scale", type=float, default=1.0, help="in (0, 1]; default 1")
    parser.add_argument("--batch", type=int, help="default: the family's own")
    parser.add_argument("--seed", type=int, help="of families that draw; default 1")
    parser.add_argument("-o", "--output", default="-", help="default: standard output")
    args = parser.parse_args()
    if not 0 < args.scale <= 1:
        parser.error(f"--scale {args.scale}: must be in (0, 1]")
    if args.batch is not None and args.batch < 1:
        parser.error(f"--batch {args.batch}: must be positive")
    args.options = {name: value for name, value in (("batch", args.batch), ("seed", args.seed))
                    if value is not None}
    for name in args.options:
        if name not in inspect.signature(FAMILIES[args.family]).parameters:
            parser.error(f"--{name}: {args.family} has none")
    return args


def main():
    args = arguments()
    text = record(args.family, args.scale, **args.options)
    if args.output == "-":
        sys.stdout.write(text)
    else:
        with open(args.output, "w", encoding="ascii") as file:
            file.write(text)


if __name__ == "__main__":
    main()
