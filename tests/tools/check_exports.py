#!/usr/bin/env python3
"""The library exports what the public headers declare with CEBUS_API, and nothing else.

usage: check_exports.py ROOT LIBRARY

It also must not bring a malloc of its own into the programs that load it.
"""
import re
import subprocess
import sys

from tree import read, report, sources

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#.*(?:\\\n.*)*", re.MULTILINE)
DECLARATION = re.compile(r"\bCEBUS_API\b[^;{(]*?(?:\bCEBUS_\w+\([^)]*\)[^;{(]*?)?\b(\w+)\s*[(;\[]")


def declared(root):
    """name -> header of everything marked CEBUS_API."""
    names = {}
    for path in sources(root, ("layout/include", "evict/include", "eager/include"), (".h",)):
        text = DIRECTIVE.sub("", COMMENT.sub("", read(root, path)))
        names.update((name, path) for name in DECLARATION.findall(text))
    return names


def tool_lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def exported(library):
    return {line.split()[-1] for line in tool_lines("nm", "-D", "--defined-only", library)}


def main(root, library):
    wanted, got = declared(root), exported(library)
    problems = [f"{wanted[name]}: {name} is declared but not exported"
                for name in sorted(wanted.keys() - got)]
    problems += [f"{library}: {name} is exported but not declared"
                 for name in sorted(got - wanted.keys())]
    problems += [f"{path}: {name} does not start with cebus_"
                 for name, path in sorted(wanted.items()) if not name.startswith("cebus_")]
    problems += [f"{library}: links jemalloc, which replaces its users' malloc"
                 for line in tool_lines("readelf", "-d", library)
                 if "NEEDED" in line and "jemalloc" in line]
    report(problems)


if __name__ == "__main__":
    main(*sys.argv[1:])
