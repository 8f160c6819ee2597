"""Reads the cebus trace format (eager/include/cebus/trace.h)."""
from .lines import COST_NS, VALUE_BYTES, Lines
from .program import Program

ID_LIMIT = (1 << 64) - 1


class Reader:
    """Ids to storages, as the lines come. A storage is let go with the last id that names it."""

    def __init__(self, path):
        self.lines = Lines(path)
        self.program = Program()
        self.storage = {}  # live id -> storage
        self.dead = set()
        self.names = {}  # storage -> live ids that name it

    def read(self):
        items = iter(self.lines)
        header = next(items, None)
        if header is None:
            self.lines.fail("the file is empty")
        if header.get("cebus_trace") != 1:
            self.lines.fail("not a cebus trace: the first line lacks {\"cebus_trace\": 1}; "
                            "for a log of the DTR simulator say --format dtr")
        kinds = {"const": self._const, "op": self._op, "free": self._free, "mark": None}
        for item in items:
            kind = next((kind for kind in kinds if kind in item), None)
            if kind is None:
                self.lines.fail("neither const, op, free nor mark")
            if kinds[kind]:
                kinds[kind](item)
        return self.program.finish()

    def _new(self, name, storage):
        if name in self.storage or name in self.dead:
            self.lines.fail(f"value {name} is made twice")
        self.storage[name] = storage
        self.names[storage] = self.names.get(storage, 0) + 1

    def _known(self, name):
        name = self.lines.number_of(name, "value", ID_LIMIT, 1)
        if name in self.dead:
            self.lines.fail(f"value {name} was freed before")
        if name not in self.storage:
            self.lines.fail(f"value {name} is not known")
        return name

    def _const(self, item):
        name = self.lines.integer(item, "const", ID_LIMIT, least=1)
        size = self.lines.integer(item, "bytes", VALUE_BYTES)
        persistent = self.lines.get(item, "persistent", bool, False)
        self._new(name, self.program.add_constant(size, persistent))

    def _free(self, item):
        name = self._known(item["free"])
        storage = self.storage.pop(name)
        self.dead.add(name)
        self.names[storage] -= 1
        if self.names[storage] == 0:
            self.program.release(storage)

    def _op(self, item):
        lines = self.lines
        inputs = [self._known(v) for v in lines.get(item, "in", list)]
        ins = [self.storage[v] for v in inputs]
        flags = lines.get(item, "flags", list, [])
        made, same, views = [], [], []
        for out in lines.get(item, "out", list):
            if not isinstance(out, dict):
                lines.fail("an output is not an object")
            name = lines.integer(out, "value", ID_LIMIT, least=1)
            size = lines.integer(out, "bytes", VALUE_BYTES)
            alias = lines.integer(out, "alias_of", len(ins) - 1, -1, -1)
            if alias >= 0 and name == inputs[alias]:
                same.append(ins[alias])
            elif alias >= 0 and "mutates" not in flags:
                views.append((name, ins[alias]))
            else:
                made.append((name, size))
        cost = lines.integer(item, "cost_ns", COST_NS)
        outs = self.program.add_op(
            lines.get(item, "name", str, ""), cost, ins, [size for _, size in made],
            lines.integer(item, "workspace", VALUE_BYTES, 0),
            is_view=bool(views) and not made and not same,
            replayable="nonreplayable" not in flags)
        for (name, _), storage in zip(made, outs):
            self._new(name, storage)
        for name, storage in views:
            self._new(name, storage)
        for storage in same:
            if self.program.values[storage].is_constant:
                self.program.write_constant(storage)


def read_cebus(path):
    """The program of a file; TraceError when it makes no sense."""
    return Reader(path).read()
