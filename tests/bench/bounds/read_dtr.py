"""Reads logs of the DTR simulator (Kirisame et al., ICLR'21, published with its prototype)."""
from .lines import COST_NS, VALUE_BYTES, Lines
from .program import Program


class Reader:
    """Names to storages, and references to each storage, as the lines come."""

    def __init__(self, path):
        start = Lines(path).find("ANNOTATION", "START")  # what stands before is left out
        self.lines = Lines(path, start)
        self.program = Program()
        self.storage = {}  # name -> storage, also of names that were released
        self.released = set()
        self.references = {}  # storage -> names of it that were not

    def read(self):
        handlers = {
            "CONSTANT": self._constant, "CALL": self._call, "MUTATE": self._mutate,
            "COPY": self._copy, "COPY_FROM": self._copy_from, "RELEASE": self._release,
        }
        self.items = iter(self.lines)
        for item in self.items:
            kind = self.lines.get(item, "INSTRUCTION", str)
            if kind == "ANNOTATE":
                self.lines.get(item, "ANNOTATION", str)
            elif kind in handlers:
                handlers[kind](item)
            else:
                self.lines.fail(f"instruction {kind} is not known or stands in a wrong place")
        return self.program.finish()

    def _next(self, kind, name):
        """The line that must follow about this name."""
        item = next(self.items, None)
        if item is None:
            self.lines.fail(f"the file ends where {kind} of {name} must follow")
        if item.get("INSTRUCTION") != kind or item.get("NAME") != name:
            self.lines.fail(f"{kind} of {name} must follow here")
        return item

    def _known(self, name):
        """Its storage. A name that was released will do while another holds the storage."""
        if not isinstance(name, str) or name not in self.storage:
            self.lines.fail(f"{name!r:.40} is not known")
        storage = self.storage[name]
        if self.references[storage] == 0 and not self.program.values[storage].is_constant:
            self.lines.fail(f"{name!r:.40} was released before")
        return storage

    def _held(self, name):
        """The same of a name that may get another value."""
        storage = self._known(name)
        if name in self.released:
            self.lines.fail(f"{name!r:.40} was released before")
        return storage

    def _bind(self, name, storage):
        if not isinstance(name, str):
            self.lines.fail("a name is not a string")
        if name in self.storage:
            self.lines.fail(f"{name!r:.40} is made twice")
        self.storage[name] = storage
        self.references[storage] = self.references.get(storage, 0) + 1

    def _drop(self, storage):
        self.references[storage] -= 1
        if self.references[storage] == 0:
            self.program.release(storage)

    def _constant(self, item):
        name = self.lines.get(item, "NAME", str)
        size = self.lines.integer(self._next("MEMORY", name), "MEMORY", VALUE_BYTES)
        self._bind(name, self.program.add_constant(size, True))

    def _arguments(self, item):
        return [self._known(name) for name in self.lines.get(item, "ARGS", list)]

    def _call(self, item):
        ins = self._arguments(item)
        results = self.lines.get(item, "RESULT", list)
        if not results:
            self.lines.fail("the call has no RESULT")
        name = self.lines.get(item, "NAME", str, "")
        cost = self.lines.integer(item, "TIME", COST_NS)
        made, sizes, aliases = [], [], []
        for result in results:
            size = self.lines.integer(self._next("MEMORY", result), "MEMORY", VALUE_BYTES)
            alias = self.lines.integer(self._next("ALIAS", result), "ALIAS", len(ins) - 1,
                                       least=-1)
            if alias >= 0:
                aliases.append((result, ins[alias]))
            else:
                made.append(result)
                sizes.append(size)
        outs = self.program.add_op(name, cost, ins, sizes,
                                   is_view=not made)
        for result, storage in aliases + list(zip(made, outs)):
            self._bind(result, storage)

    def _mutate(self, item):
        ins = self._arguments(item)
        names = item["ARGS"]
        written = [names[self.lines.number_of(i, "MUTATE", len(names) - 1)]
                   for i in self.lines.get(item, "MUTATE", list)]
        sizes = [self.program.values[self._held(name)].bytes for name in written]
        outs = self.program.add_op(self.lines.get(item, "NAME", str, ""),
                                   self.lines.integer(item, "TIME", COST_NS), ins, sizes,
                                   is_view=not sizes)
        for name, storage in zip(written, outs):
            self._rebind(name, storage)

    def _rebind(self, name, storage):
        old = self.storage[name]
        self.storage[name] = storage
        self.references[storage] = self.references.get(storage, 0) + 1
        self._drop(old)

    def _copy(self, item):
        storage = self._known(item.get("SRC"))
        self._bind(item.get("DST"), storage)

    def _copy_from(self, item):
        storage = self._known(item.get("SRC"))
        if item.get("DST") not in self.storage:
            self.lines.fail(f"{item.get('DST')!r:.40} is not known")
        if item["DST"] in self.released:
            self.lines.fail(f"{item['DST']!r:.40} was released before")
        self._rebind(item["DST"], storage)

    def _release(self, item):
        name = self.lines.get(item, "NAME", str)
        if name not in self.storage:
            return  # made before START
        if name in self.released:
            self.lines.fail(f"{name!r:.40} was released before")
        self.released.add(name)
        self._drop(self.storage[name])


def read_dtr(path):
    """The program of a file; TraceError when it makes no sense."""
    return Reader(path).read()
