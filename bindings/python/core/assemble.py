#!/usr/bin/env python3
"""Writes one Cython source out of a file and all that it includes.

usage: assemble.py SOURCE OUTPUT

Cython takes `include` at the top of a module alone; here a class may include its methods, too.
"""
import os
import re
import sys

INCLUDE = re.compile(r'^ *include "([^"]+)"$')


def lines_of(path):
    """The lines of a file, with those of the files it includes in their place."""
    with open(path, encoding="utf-8") as source:
        for line in source.read().splitlines():
            included = INCLUDE.match(line)
            if included:
                yield from lines_of(os.path.join(os.path.dirname(path), included.group(1)))
            else:
                yield line


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as output:
        output.write("\n".join(lines_of(sys.argv[1])) + "\n")
