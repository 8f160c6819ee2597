#!/usr/bin/env python3
"""How fast inference can be whose parameters do not fit, whatever the plan and the order of calls.

    stream_bound.py FORWARD --gbps 12 --latency-us 7 --memory 64MiB,128MiB

Two bounds. Traffic: what does not fit beside the most that one call needs has to come once an
iteration. The other one says when: while a call runs that reads and makes so much that only M bytes
are left for parameters, all others are away, and those that only calls behind it use must come
after its end. Calls before it are at least those that it depends on. A copy takes its latency, too,
and of so many bytes there are at least as many copies as of the largest parameters. The best over
all calls is printed.
"""
import argparse
import json
import re


def size_of(text):
    number, unit = re.fullmatch(r"([0-9.]+)([KMG]i?B|B)?", text).groups()
    base = 1024 if unit and "i" in unit else 1000
    return int(float(number) * base ** (" KMG".index(unit[0]) if unit and unit != "B" else 0))


def read(path):
    with open(path, encoding="utf-8") as source:
        rows = [json.loads(line) for line in source]
    lasting = {row["const"]: row["bytes"] for row in rows
               if "const" in row and row.get("persistent")}
    return lasting, [row for row in rows if "op" in row]


def needs_of(op, size, lasting):
    """Bytes that it reads and makes, but for parameters, and its workspace."""
    named = set(op["in"]) | {out["value"] for out in op["out"] if "alias_of" not in out}
    return sum(size[value] for value in named if value not in lasting) + op["workspace"]


def copies_for(wanted, sizes):
    """The fewest that bring so many bytes; sizes descend."""
    count = 0
    for size in sizes:
        if wanted <= 0:
            break
        wanted -= size
        count += 1
    return count


class Program:
    def __init__(self, path):
        self.lasting, self.ops = read(path)
        self.size = {out["value"]: out["bytes"] for op in self.ops for out in op["out"]}
        for value, bytes_ in self.lasting.items():
            self.size.setdefault(value, bytes_)
        used = {value for op in self.ops for value in op["in"]}
        made = {out["value"] for op in self.ops for out in op["out"]}
        self.lasting = {value: n for value, n in self.lasting.items() if value in used - made}
        self.all = sum(self.lasting.values())
        self.behind = self._ancestors()

    def _ancestors(self):
        """By call: those it depends on, as the bits of a number."""
        maker, behind = {}, []
        for k, op in enumerate(self.ops):
            mine = 0
            for value in op["in"]:
                if value in maker:
                    mine |= behind[maker[value]] | 1 << maker[value]
            behind.append(mine)
            for out in op["out"]:
                maker[out["value"]] = k
        return behind

    def traffic(self, memory, rate):
        most = max(needs_of(op, self.size, self.lasting) for op in self.ops)
        compute = sum(op["cost_ns"] for op in self.ops)
        return max(compute, max(0, self.all + most - memory) / rate)

    def late(self, k, memory, rate, latency):
        """The other bound, by call k."""
        before = self.behind[k] | 1 << k
        own = [self.ops[i] for i in range(len(self.ops)) if before >> i & 1]
        early = {value for i, op in enumerate(self.ops) if not self.behind[i] >> k & 1
                 for value in op["in"] if value in self.lasting}
        away = self.all + needs_of(self.ops[k], self.size, self.lasting) - memory
        away -= sum(self.lasting[value] for value in early)
        if away <= 0:
            return 0
        rest = sorted((n for value, n in self.lasting.items() if value not in early), reverse=True)
        return sum(op["cost_ns"] for op in own) + away / rate + latency * copies_for(away, rest)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--gbps", type=float, default=12)
    parser.add_argument("--latency-us", type=float, default=7)
    parser.add_argument("--memory", default="64MiB,128MiB,192MiB,256MiB")
    options = parser.parse_args()
    program = Program(options.trace)
    print("| memory | traffic, ms | bound, ms | by call |\n|---|---:|---:|---|")
    for text in options.memory.split(","):
        memory = size_of(text)
        traffic = program.traffic(memory, options.gbps)
        late = [program.late(k, memory, options.gbps, options.latency_us * 1e3)
                for k in range(len(program.ops))]
        best = max(range(len(late)), key=late.__getitem__)
        least = max(traffic, late[best])
        name = program.ops[best]["name"] + f" ({best})" if late[best] > traffic else "-"
        print(f"| {text} | {traffic / 1e6:.2f} | {least / 1e6:.2f} | {name} |")


if __name__ == "__main__":
    main()
