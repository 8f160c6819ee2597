#!/usr/bin/env python3
"""Makes a package of links in the build directory: the extension and the Python sources.

usage: link_package.py EXTENSION SOURCES PACKAGE STAMP
"""
import os
import sys


def link(target, name):
    """A link, replaced where it points elsewhere."""
    if os.path.lexists(name):
        if os.path.islink(name) and os.readlink(name) == target:
            return
        os.remove(name)
    os.symlink(target, name)


def main(extension, sources, package, stamp):
    os.makedirs(package, exist_ok=True)
    wanted = {name: os.path.join(os.path.realpath(sources), name)
              for name in os.listdir(sources) if name != "__pycache__"}
    wanted[os.path.basename(extension)] = os.path.realpath(extension)
    for name in os.listdir(package):
        path = os.path.join(package, name)
        if name not in wanted and os.path.islink(path):
            os.remove(path)
    for name, target in wanted.items():
        link(target, os.path.join(package, name))
    with open(stamp, "w", encoding="utf-8"):
        pass


if __name__ == "__main__":
    main(*sys.argv[1:])
