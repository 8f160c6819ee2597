#!/usr/bin/env python3
"""Writes the first C example of a Markdown file to a C file: the suite compiles and runs it.

usage: readme_example.py README.md OUT.c
"""
import re
import sys

EXAMPLE = re.compile(r"^```c\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def main(page, out):
    with open(page, encoding="utf-8") as file:
        found = EXAMPLE.search(file.read())
    if not found:
        sys.exit(f"{page}: no C example")
    with open(out, "w", encoding="utf-8") as file:
        file.write(found.group(1))


if __name__ == "__main__":
    main(*sys.argv[1:])
