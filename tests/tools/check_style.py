#!/usr/bin/env python3
"""What needs no C parser: blanks at line ends, tabs, line length, odd characters, unfinished work.

usage: check_style.py ROOT
"""
import re
import sys

from tree import FOLDERS, read, report, sources

ENDINGS = (".c", ".h", ".cu", ".py", ".sh", ".md", "meson.build")
LINE_RULES = (
    (re.compile(r"[ \t]+$"), "blank at the end of the line"),
    (re.compile(r"\t"), "tab"),
    (re.compile(r"\r"), "carriage return"),
    (re.compile(r"[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\u00a0]"), "invisible character"),
)
CODE_RULES = (
    (re.compile(r"^.{101,}"), "more than 100 columns"),
    (re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b"), "unfinished work"),
)


def main(root):
    problems = []
    for path in sources(root, FOLDERS + ("tests",), ENDINGS):
        text = read(root, path)
        rules = LINE_RULES if path.endswith(".md") else LINE_RULES + CODE_RULES
        for number, line in enumerate(text.split("\n"), 1):
            problems += [f"{path}:{number}: {what}" for rule, what in rules if rule.search(line)]
        if text and not text.endswith("\n"):
            problems.append(f"{path}: no newline at the end")
        if text.endswith("\n\n"):
            problems.append(f"{path}: blank line at the end")
    report(problems)


if __name__ == "__main__":
    main(sys.argv[1])
