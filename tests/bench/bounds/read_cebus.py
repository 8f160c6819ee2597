"""Reads the cebus trace format (eager/include/cebus/trace.h)."""
from .lines import COST_NS, VALUE_BYTES, Lines
from .program import Program

ID_LIMIT = (1 << 63) - 1
KINDS = ("cebus_trace", "const", "op", "free", "mark")
FLAGS = ("rng", "mutates", "nonreplayable")


class Reader:
    """Ids of the trace to values of the program, as the lines come."""

    def __init__(self, path):
        self.lines = Lines(path)
        self.program = Program()
        self.values = {}  # id that is not freed -> value
        self.dead = set()
        self.overwritten = set()

    def read(self):
        items = iter(self.lines)
        header = next(items, None)
        if header is None:
            self.lines.fail("the file is empty")
        if header.get("cebus_trace") != 1:
            self.lines.fail("not a cebus trace: the first line lacks {\"cebus_trace\": 1}; "
                            "for a log of the DTR simulator say --format dtr")
        if header.get("unit", "ns") != "ns":
            self.lines.fail("the unit is not \"ns\"")
        handlers = {"const": self._const, "op": self._op, "free": self._free}
        for item in items:
            kinds = [kind for kind in KINDS if kind in item]
            if len(kinds) != 1 or kinds[0] == "cebus_trace":
                self.lines.fail("a line has one of the keys const, op, free and mark")
            if kinds[0] in handlers:
                handlers[kinds[0]](item)
        return self.program.finish()

    def _make(self, name, value):
        if name in self.values or name in self.dead:
            self.lines.fail(f"value {name} is made twice")
        self.values[name] = value

    def _known(self, name):
        name = self.lines.number_of(name, "value", ID_LIMIT, 1)
        if name in self.dead:
            self.lines.fail(f"value {name} was freed before")
        if name not in self.values:
            self.lines.fail(f"value {name} is not known")
        return name

    def _const(self, item):
        name = self.lines.integer(item, "const", ID_LIMIT, least=1)
        size = self.lines.integer(item, "bytes", VALUE_BYTES)
        persistent = self.lines.get(item, "persistent", bool, False)
        self._make(name, self.program.add_constant(size, persistent))

    def _free(self, item):
        name = self._known(item["free"])
        value = self.values.pop(name)
        if self.program.values[value].persistent:
            self.lines.fail(f"value {name} is freed, but it is a persistent constant")
        self.dead.add(name)
        self.program.release(value)

    def _op(self, item):
        lines = self.lines
        inputs = [self._known(v) for v in lines.get(item, "in", list)]
        flags = lines.get(item, "flags", list, [])
        for flag in flags:
            if flag not in FLAGS:
                lines.fail(f"unknown flag {flag!r:.40}")
        outputs = [self._output(out, inputs, flags) for out in lines.get(item, "out", list)]
        made = [(name, size) for name, size, over in outputs if name != over]
        values = self.program.add_op(
            lines.get(item, "name", str, ""), lines.integer(item, "cost_ns", COST_NS),
            [self.values[v] for v in inputs], [size for _, size in made],
            lines.integer(item, "workspace", VALUE_BYTES, 0),
            replayable="nonreplayable" not in flags)
        for (name, _), value in zip(made, values):
            self._make(name, value)
        for name, _, over in outputs:
            if over == name and self.program.values[self.values[name]].is_constant:
                self.program.write_constant(self.values[name])
            elif over is not None and over != name:
                self.program.overwrite(self.values[over])

    def _output(self, out, inputs, flags):
        """(id, bytes, id of the input it is written over or None)"""
        lines = self.lines
        if not isinstance(out, dict):
            lines.fail("an output is not an object")
        name = lines.integer(out, "value", ID_LIMIT, least=1)
        size = lines.integer(out, "bytes", VALUE_BYTES)
        alias = lines.integer(out, "alias_of", len(inputs) - 1, -1, -1)
        if alias < 0:
            return name, size, None
        over = inputs[alias]
        value = self.program.values[self.values[over]]
        if "mutates" not in flags:
            lines.fail("an output has alias_of, but the op lacks the flag mutates")
        if value.bytes != size:
            lines.fail(f"{size} bytes are written over value {over} of {value.bytes}")
        if over in self.overwritten:
            lines.fail(f"value {over} was overwritten before")
        if over != name:
            if value.persistent:
                lines.fail(f"value {over} is persistent and keeps its number when it is written")
            self.overwritten.add(over)
        return name, size, over


def read_cebus(path):
    """The program of a file; TraceError when it makes no sense."""
    return Reader(path).read()
