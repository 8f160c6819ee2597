#!/usr/bin/env python3
"""Runs pytest files and reports each test as a line of TAP, which meson and ./dev count.

usage: run_pytest.py FILE... [PYTEST ARGUMENTS]
"""
import os
import sys

import pytest


class Tap:
    """A pytest plugin that writes TAP to standard output; pytest's own report goes to stderr."""

    def __init__(self, stream):
        self.stream, self.count = stream, 0

    def line(self, verdict, name, remark=""):
        self.count += 1
        name = name.replace("#", "%")
        self.stream.write(f"{verdict} {self.count} - {name}{remark}\n")
        self.stream.flush()

    def pytest_runtest_logreport(self, report):
        if report.skipped and report.when in ("setup", "call"):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else "skipped"
            self.line("ok", report.nodeid, " # SKIP " + " ".join(str(reason).split()))
        elif report.failed:
            self.line("not ok", f"{report.nodeid} ({report.when})")
        elif report.when == "call":
            self.line("ok", report.nodeid)

    def pytest_collectreport(self, report):
        if report.failed:
            self.line("not ok", f"{report.nodeid} (collection)")
        elif report.skipped:
            self.line("ok", report.nodeid, " # SKIP " + " ".join(str(report.longrepr[2]).split()))


def main(arguments):
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    tap = Tap(stream)
    verdict = pytest.main(["-q", "-p", "no:cacheprovider", *arguments], plugins=[tap])
    if verdict not in (0, 1, 5):
        tap.line("not ok", f"pytest ended with {int(verdict)}")
    stream.write(f"1..{tap.count}\n")
    stream.close()
    return int(verdict) if verdict != 5 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
