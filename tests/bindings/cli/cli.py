"""What the tests of the program `cebus` share: runs of it, traces written by hand, TAP."""
import json
import os
import subprocess
import sys
import tempfile
import traceback

MIB = 1 << 20
MS = 1000000
END_NS = 1  # the call that reads what is left at the end of a pass
HOST_TIMES = ("search_ns_mean", "host_ns_per_call")  # the only figures that differ between runs


class Cli:
    """The program, and a folder for its files."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith("CEBUS_")}

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments, status=0, variables=None, stdin=None):
        """Runs it; the exit status must be the one given."""
        done = subprocess.run([self.program, *arguments], capture_output=True, check=False,
                              encoding="utf-8", errors="replace", input=stdin,
                              env=self.environment | (variables or {}), timeout=240)
        assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
        assert status != 0 or done.stderr == "", (arguments, done.stderr)
        return done

    def lines(self, *arguments, **more):
        """What it says in JSON, a list of objects."""
        done = self.run(*arguments, "--json", **more)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def one(self, *arguments, **more):
        lines = self.lines(*arguments, **more)
        assert len(lines) == 1, lines
        return lines[0]

    def refuses(self, *arguments, says, status=1, **more):
        """It fails, says each of these texts, and prints no result."""
        done = self.run(*arguments, status=status, **more)
        for text in says:
            assert text in done.stderr, (arguments, text, done.stderr)
        return done

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)


class Trace:
    """A cebus trace, line by line; values are numbered as they are made."""

    def __init__(self, machine="cpu"):
        self.lines = [{"cebus_trace": 1, "machine": machine, "unit": "ns"}]
        self.values = self.ops = self.marks = 0
        self.compute_ns = 0

    def const(self, size, persistent=False):
        self.values += 1
        self.lines.append({"const": self.values, "bytes": size, "persistent": persistent})
        return self.values

    def _op(self, name, cost, ins, out, flags=(), **more):
        self.ops += 1
        self.compute_ns += cost
        self.lines.append({"op": self.ops, "name": name, "in": list(ins), "out": out,
                           "cost_ns": cost, "flags": list(flags), **more})

    def op(self, cost, ins, sizes, name="f", **more):
        """Makes one value for each size; answers it, or them."""
        made = []
        for size in [sizes] if isinstance(sizes, int) else sizes:
            self.values += 1
            made.append({"value": self.values, "bytes": size})
        self._op(name, cost, ins, made, **more)
        values = [output["value"] for output in made]
        return values[0] if isinstance(sizes, int) else values

    def write_over(self, cost, ins, written, size, leaf=False, name="f_"):
        """Writes over the value `written`, one of the inputs: a leaf keeps its number."""
        if not leaf:
            self.values += 1
        value = written if leaf else self.values
        self._op(name, cost, ins, [{"value": value, "bytes": size,
                                    "alias_of": list(ins).index(written)}], ["mutates"])
        return value

    def free(self, *values):
        self.lines += [{"free": value} for value in values]

    def mark(self):
        self.marks += 1
        self.lines.append({"mark": self.marks})

    def save(self, cli, name):
        return cli.write(name, "".join(json.dumps(line) + "\n" for line in self.lines))


def example(cli, name="example.trace", size=MIB):
    """
    Six ops, each half as dear as the next. At most four values live at once, and three must. In
    room for three, every policy gives up the first, the cheapest and oldest, when the fourth op
    runs; the sixth has it made again: one eviction, one recompute of 1 ms in a pass of 63.
    """
    trace = Trace()
    a = trace.op(1 * MS, [], size, "a")
    b = trace.op(2 * MS, [a], size, "b")
    c = trace.op(4 * MS, [b], size, "c")
    d = trace.op(8 * MS, [c], size, "d")
    trace.free(c)
    e = trace.op(16 * MS, [d, b], size, "e")
    trace.free(d, b)
    trace.op(32 * MS, [e, a], size, "f")
    trace.free(e, a)
    assert trace.compute_ns == 63 * MS
    return trace.save(cli, name)


def stable(result):
    """A result without what depends on the host."""
    return {key: value for key, value in result.items() if key not in HOST_TIMES}


def main(cases):
    """
    Runs the functions whose names begin with case_, given the program to test; prints TAP. A case
    that does not apply answers why.
    """
    found = [(name, case) for name, case in cases.items() if name.startswith("case_")]
    failures = 0
    print(f"1..{len(found)}")
    for number, (name, case) in enumerate(found, 1):
        title = f"{number} - {name[5:].replace('_', ' ')}"
        with tempfile.TemporaryDirectory() as folder:
            try:
                skipped = case(Cli(sys.argv[1], folder))
                print(f"ok {title}" + (f" # SKIP {skipped}" if skipped else ""))
            except Exception:  # pylint: disable=broad-except  # any is a failure of the case
                failures += 1
                print(f"not ok {title}\n# " + traceback.format_exc().replace("\n", "\n# "))
    sys.exit(failures > 0)
