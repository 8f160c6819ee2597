#!/usr/bin/env python3
"""Writes a log of the DTR simulator for a model: structure, bytes and times, nothing computed."""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "dtr"))

import images      # noqa: E402  (beside this file, not installed)
from recorder import Recorder  # noqa: E402

FAMILIES = {
    "resnet32": images.resnet32,
    "densenet121": images.densenet121,
    "inceptionv4": images.inception_v4,
    "unet": images.unet,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", choices=sorted(FAMILIES))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--batch", type=int)
    parser.add_argument("-o", "--output", default="-")
    args = parser.parse_args()
    options = {} if args.batch is None else {"batch": args.batch}
    with Recorder() as rec:
        alive = FAMILIES[args.family](rec, args.scale, **options)
    text = rec.text()
    del alive
    (sys.stdout if args.output == "-" else open(args.output, "w", encoding="ascii")).write(text)


if __name__ == "__main__":
    main()
