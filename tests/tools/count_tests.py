#!/usr/bin/env python3
"""Prints `N passed, N failed, N skipped` over a meson test log; exits 1 on any failure.

A program that speaks TAP counts once for every sub-test, any other once. A program that died
counts as one failure even when all that it managed to report had passed.
"""
import json
import os
import re
import sys

TAP_LINE = re.compile(r"^(not )?ok\b(.*)$", re.MULTILINE)
SKIP = re.compile(r"#\s*skip", re.IGNORECASE)


def count_program(result, output):
    """(passed, failed, skipped) of one program, from meson's verdict and what it printed."""
    if result == "SKIP":
        return 0, 0, 1
    good = result in ("OK", "EXPECTEDFAIL")
    lines = TAP_LINE.findall(output)
    skipped = sum(1 for _, rest in lines if SKIP.search(rest))
    failed = sum(1 for bad, rest in lines if bad and not SKIP.search(rest))
    passed = len(lines) - failed - skipped
    if not lines:
        passed = int(good)
    if not good and failed == 0:
        failed = 1
    return passed, failed, skipped


def main(path):
    totals = [0, 0, 0]
    if not os.path.exists(path):
        print("0 passed, 0 failed, 0 skipped: no test ran")
        return 1
    with open(path, encoding="utf-8") as log:
        for line in log:
            entry = json.loads(line)
            counts = count_program(entry["result"], entry.get("stdout", ""))
            totals = [total + n for total, n in zip(totals, counts)]
    passed, failed, skipped = totals
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
