#!/usr/bin/env python3
"""Files stay within 600 lines and functions within 60.

usage: check_size.py ROOT

Relies on the format that .clang-format keeps: the braces of a function, and only those, stand
in the first column.
"""
import sys

from tree import FOLDERS, read, report, sources

FILE_LINES = 600
FUNCTION_LINES = 60


def long_functions(lines):
    """(line, length) of each function body that is too long, braces not counted."""
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            length = number - start - 1
            if length > FUNCTION_LINES:
                yield start, length
            start = None


def main(root):
    problems = []
    for path in sources(root, FOLDERS + ("tests",), (".c", ".h", ".cu", ".py")):
        lines = read(root, path).splitlines()
        if len(lines) > FILE_LINES:
            problems.append(f"{path}:1: {len(lines)} lines, at most {FILE_LINES}")
        problems += [f"{path}:{line}: a function of {length} lines, at most {FUNCTION_LINES}"
                     for line, length in long_functions(lines)]
    report(problems)


if __name__ == "__main__":
    main(sys.argv[1])
