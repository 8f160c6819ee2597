"""Records a program, op by op, as a log of the DTR simulator; nothing is computed.

A Tensor is a name of the log. It releases its name when the last Python reference to it goes, so
a builder reads like an eager program, and what the log keeps alive is what such a program would.

Times are a roofline with a launch cost and a fixed pattern of a few percent in place of the noise
of a measurement, so that no two ops are equal by accident.
"""
import json
import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """What decides an op's time. The default is a Titan V run step by step."""
    flops: float = 13.8e12 * 0.5
    bandwidth: float = 653e9 * 0.7
    launch_ns: int = 9000
    view_ns: int = 2500


@dataclass(frozen=True)
class Out:
    """A result of a call: its shape, and which argument it is a view of (-1: none)."""
    shape: tuple
    item: int = 4
    alias: int = -1


class Tensor:
    """One name of the log; shape and bytes are known, contents are not."""

    def __init__(self, rec, shape, item=4, base=None):
        self.rec = rec
        self.shape = tuple(shape)
        self.item = item
        self.storage_bytes = base.storage_bytes if base else self.bytes
        self.leaf, self.grad, self.joined = False, None, None
        self.name = rec.new_name()

    @property
    def bytes(self):
        return math.prod(self.shape) * self.item

    @property
    def link(self):
        """Where its gradient goes: (node, slot), (itself, 0) for a leaf, or None."""
        return (self, 0) if self.leaf else self.joined

    def __del__(self):
        self.rec.release(self.name)


class Node:
    """A step of the backward pass: what it needs, and where its results go.

    What it saves has a name of its own (COPY), and one more each time it is read.
    """

    def __init__(self, rec, inputs, outputs, backward, saved):
        rec.nodes += 1
        self.order = rec.nodes
        self.edges = [t.link for t in inputs]
        self.backward = backward
        self.slots = len(outputs)
        self.saved = [self.save(rec, t, outputs) for t in saved]

    @staticmethod
    def save(rec, tensor, outputs):
        """A saved output is known by its slot: a link to it would be a cycle."""
        if tensor is None:
            return None
        slot = next((i for i, out in enumerate(outputs) if out is tensor), None)
        return rec.copy(tensor), slot, tensor.link if slot is None else None

    def read(self, rec):
        """The saved values under new names; joined to the graph if that is being recorded."""
        values = []
        for entry in self.saved:
            value = None
            if entry is not None:
                copy, slot, link = entry
                value = rec.copy(copy)
                if rec.grad_on:
                    value.joined = link if slot is None else (self, slot)
            values.append(value)
        return values

    def run(self, rec, grads):
        """One gradient for each input; None where none is wanted or none flows."""
        results = self.backward(*grads, *self.read(rec))
        out = []
        for link, result in zip(self.edges, results):
            if link is not None and callable(result):
                result = result()
            out.append(None if link is None else result)
        return out

    def forget(self):
        self.saved = []


class Recorder:
    """A log being written. Use as a context manager: what is left at its end stays referenced."""

    def __init__(self, machine=Machine()):
        self.machine = machine
        self.head = []
        self.lines = []
        self.names = 0
        self.nodes = 0
        self.ops = 0
        self.grad_on = True
        self.open = True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.open = False

    def write(self, instruction, **fields):
        if self.open:
            self.lines.append(json.dumps({"INSTRUCTION": instruction, **fields}))

    def new_name(self):
        self.names += 1
        return f"x{self.names}"

    def release(self, name):
        self.write("RELEASE", NAME=name)

    def annotate(self, text):
        self.write("ANNOTATE", ANNOTATION=text)

    def constant(self, *shape, item=4):
        """A value from outside."""
        out = Tensor(self, shape, item)
        self.write("CONSTANT", NAME=out.name)
        self.write("MEMORY", NAME=out.name, MEMORY=str(out.storage_bytes))
        return out

    def parameter(self, *shape, item=4, leaf=True):
        """A constant of the model: it stands before the program. A leaf gets a gradient."""
        body, self.lines = self.lines, self.head
        out = self.constant(*shape, item=item)
        self.lines = body
        out.leaf = leaf
        return out

    def scalar(self):
        """A number among the arguments, which the logs show as a constant of its own."""
        return self.constant(item=8)

    def undefined(self):
        """The placeholder of an optional argument that was not given."""
        return self.constant(0)

    def copy(self, src):
        """One more name for a value, outside the graph."""
        out = Tensor(self, src.shape, src.item, src)
        self.write("COPY", DST=out.name, SRC=src.name)
        return out

    def copy_from(self, dst, src):
        """`dst = src`, the old value of `dst` let go."""
        self.write("COPY_FROM", DST=dst.name, SRC=src.name)
        dst.shape, dst.storage_bytes = src.shape, src.storage_bytes

    def time(self, flops, moved):
        """ns of one op: the dearer of arithmetic and traffic, a launch, and +-4% by its place."""
        self.ops += 1
        machine = self.machine
        work = max(flops / machine.flops, moved / machine.bandwidth) * 1e9
        launch = machine.launch_ns if flops or moved else machine.view_ns
        return int((launch + work) * (0.96 + 0.08 * (self.ops * 2654435761 % 2**32) / 2**32))

    def call(self, name, args, outs, flops=0):
        """A pure op. Views move nothing; all else reads its arguments and writes its results."""
        results = [Tensor(self, out.shape, out.item, args[out.alias] if out.alias >= 0 else None)
                   for out in outs]
        views = all(out.alias >= 0 for out in outs)
        moved = 0 if views else sum(t.bytes for t in list(args) + results)
        self.write("CALL", RESULT=[t.name for t in results], NAME=name,
                   ARGS=[t.name for t in args], TIME=str(self.time(flops, moved)))
        for out, t in zip(outs, results):
            self.write("MEMORY", NAME=t.name, MEMORY=str(t.storage_bytes))
            self.write("ALIAS", NAME=t.name, ALIAS=str(out.alias))
        return results

    def mutate(self, name, args, which=(0,)):
        """An op that writes over args[i] for i in `which`; its time includes their copies."""
        moved = sum(t.bytes for t in args) + sum(3 * args[i].bytes for i in which)
        self.write("MUTATE", NAME=name, ARGS=[t.name for t in args], MUTATE=list(which),
                   TIME=str(self.time(0, moved)))

    def track(self, inputs, outputs, backward, saved=()):
        """Joins outputs to the graph. `backward(*grads, *saved)` gives one entry an input: a
        tensor, None, or a function called only when that gradient is wanted."""
        if self.grad_on and any(t.link for t in inputs):
            node = Node(self, inputs, outputs, backward, saved)
            for slot, out in enumerate(outputs):
                out.joined = node, slot

    def text(self):
        start = json.dumps({"INSTRUCTION": "ANNOTATE", "ANNOTATION": "START"})
        return "\n".join([start, *self.head, *self.lines]) + "\n"
