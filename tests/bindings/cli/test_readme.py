#!/usr/bin/env python3
"""What bindings/cli/README.md shows of a command is what that prints.

usage: test_readme.py PROGRAM
"""
import os
import re

from cli import main

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")


def shown():
    """Commands of the README and the lines below each, by their first words."""
    with open(os.path.join(ROOT, "bindings", "cli", "README.md"), encoding="utf-8") as file:
        text = file.read()
    sessions = {}
    for block in re.findall(r"(?m)(?:^    .*\n)+", text):
        for session in re.split(r"(?m)^    \$ ", block)[1:]:
            command, *lines = session.splitlines()
            sessions[command.split(" --")[0]] = (command.split()[1:], lines)
    return sessions


def expect(output, lines):
    """All of these are printed, in this order; blanks and remarks in brackets aside."""
    printed = iter([line.split() for line in output.splitlines()])
    for line in lines:
        words = re.sub(r"\s+\(.*\)$", "", line).split()
        assert words in printed, (line, output)


def holds(cli, session):
    arguments, lines = shown()[session]
    assert len(lines) > 1
    here = [os.path.join(ROOT, word) if word.startswith("tests/") else word for word in arguments]
    expect(cli.run(*here).stdout, lines)


def case_replay(cli):
    holds(cli, "cebus replay tests/support/dtr/chain.log")


def case_explain(cli):
    holds(cli, "cebus explain tests/support/dtr/chain.log")


if __name__ == "__main__":
    main(globals())
