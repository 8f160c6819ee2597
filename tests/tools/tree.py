"""Where the sources of cebus are, for the checkers beside this file."""
import os
import sys

# The one direction: a folder includes only itself and what stands before it.
FOLDERS = ("layout", "lineage", "evict", "eager", "bindings")
# Likewise the folders in one of them. Of `eager` only these have an order: its runtime, and what
# captures, plans, rebuilds and swaps, call each other.
INNER = {
    "eager": ("ops", "spill", "trace", "device", "autograd"),
    "evict": ("choice", "timeline", "planner", "places", "policies", "advisor"),
    "layout": ("window", "pack"),
}


def sources(root, folders, endings=(".c", ".h", ".cu")):
    """Paths, relative to `root` and sorted, of the files of these folders."""
    found = []
    for folder in folders:
        for where, inner, names in os.walk(os.path.join(root, folder)):
            inner[:] = [each for each in inner if not each.startswith(".")]  # builders' own
            found += [os.path.relpath(os.path.join(where, name), root)
                      for name in names if name.endswith(endings)]
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def report(problems):
    """Prints each problem as `file:line: text` and ends the program accordingly."""
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
