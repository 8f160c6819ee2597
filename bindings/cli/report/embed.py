#!/usr/bin/env python3
"""Turns files into a C array of their bytes, one after the other, with a zero at the end.

usage: embed.py OUTPUT NAME FILE... [NAME FILE...]

A NAME is an identifier; the FILEs that follow it go into `const char NAME[]`.
"""
import sys


def arrays(arguments):
    """NAME and joined bytes, for each group of the arguments."""
    found = []
    for argument in arguments:
        if argument.isidentifier():
            found.append([argument, b""])
        else:
            with open(argument, "rb") as file:
                found[-1][1] += file.read()
    return found


def main(output, arguments):
    with open(output, "w", encoding="ascii") as file:
        for name, data in arrays(arguments):
            assert data.isascii(), name
            file.write(f"extern const char {name}[];\nconst char {name}[] = {{\n")
            for at in range(0, len(data), 20):
                file.write("    " + ", ".join(str(byte) for byte in data[at:at + 20]) + ",\n")
            file.write("    0};\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
