#!/usr/bin/env python3
"""All C as clang-format writes it. Skips without the version that .clang-format is held by: another
one breaks some lines elsewhere.

usage: check_format.py ROOT
"""
import re
import subprocess
import sys

from tree import FOLDERS, sources

VERSION = "14"
SKIPPED = 77  # what meson takes for a skipped test


def version_of(tool):
    try:
        ended = subprocess.run([tool, "--version"], capture_output=True, text=True)
    except OSError:
        return None
    found = re.search(r"version (\d+)", ended.stdout)
    return found and found.group(1)


def main(root):
    tools = (f"clang-format-{VERSION}", "clang-format")
    tool = next((tool for tool in tools if version_of(tool) == VERSION), None)
    if tool is None:
        print(f"no clang-format {VERSION} here")
        sys.exit(SKIPPED)
    files = sources(root, FOLDERS + ("tests",), (".c", ".h"))
    ended = subprocess.run([tool, "--dry-run", "-Werror", *files], cwd=root,
                           capture_output=True, text=True)
    finds = [line for line in ended.stderr.splitlines() if "error:" in line]
    print("\n".join(finds) or ended.stderr, end="\n" if finds else "")
    sys.exit(ended.returncode)


if __name__ == "__main__":
    main(sys.argv[1])
