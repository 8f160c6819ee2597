#!/usr/bin/env python3
"""Holds the one direction: layout < lineage < evict < eager < bindings.

usage: check_includes.py ROOT

A folder includes only itself, folders to its left and the public headers that lie in them, and so
do the folders in it that have an order (`tree.INNER`); public headers only other headers and the C
library; bindings and examples only public headers and their neighbours.
"""
import os
import re
import sys

from tree import FOLDERS, INNER, read, report, sources

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+([<"])([^>"]+)', re.MULTILINE)
EXAMPLES = os.path.join("eager", "examples", "")
BINDINGS = os.path.join("bindings", "")


def home(quote, target):
    """The folder that an included file belongs to; None for the C library, the config header
    and siblings."""
    if quote == "<" and target.startswith("cebus/"):
        if target in ("cebus/base.h", "cebus/pack.h"):
            return "layout"
        return "evict" if target in ("cebus/advise.h", "cebus/hint.h") else "eager"
    first = target.split("/")[0]
    return first if first in FOLDERS or first == "tests" else None


def inner_complaint(path, target):
    """What is wrong with an include between folders in one folder, or None."""
    mine, theirs = path.split(os.sep), target.split("/")
    order = INNER.get(mine[0], ())
    if mine[0] != theirs[0] or mine[1] not in order or theirs[1] not in order:
        return None
    if order.index(theirs[1]) > order.index(mine[1]):
        return f"{mine[0]}/{mine[1]} must not know {theirs[0]}/{theirs[1]}"
    return None


def complaint(path, quote, target):
    """What is wrong with this include, or None."""
    outside = path.startswith((EXAMPLES, BINDINGS))
    if outside or os.sep + "include" + os.sep in path:
        sibling = quote == '"' and "/" not in target
        internal = quote == "<" and target.split("/")[0] in FOLDERS + ("tests",)
        own_header = not path.startswith(BINDINGS) and path.endswith(".h")
        if internal or quote == '"' and (not sibling or own_header):
            return "only public headers here"
    folder = home(quote, target)
    if folder is None:
        return None
    mine = path.split(os.sep)[0]
    if folder == "tests" or FOLDERS.index(folder) > FOLDERS.index(mine):
        return f"{mine} must not know {folder}"
    return inner_complaint(path, target)


def main(root):
    problems = []
    for path in sources(root, FOLDERS):
        text = read(root, path)
        for match in INCLUDE.finditer(text):
            why = complaint(path, *match.groups())
            if why:
                line = text.count("\n", 0, match.start()) + 1
                problems.append(f"{path}:{line}: {match.group(0).strip()}: {why}")
    report(problems)


if __name__ == "__main__":
    main(sys.argv[1])
