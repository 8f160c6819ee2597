"""A trace as the bounds see it: ops in program order, storages, when each is read and let go.

Views are metadata: they are their storage. A write in place makes a new storage of the same size
(for the peak and the floor both live during the op), except to a constant. The step after the last
op is the end, which reads all that is still referenced then, at once.
"""
from bisect import bisect_right


class TraceError(Exception):
    """A trace that cannot be used: what, where, in words."""


class Op:
    """One op. Views that cost time but need no residency have `is_view`."""

    __slots__ = ("name", "cost", "workspace", "ins", "outs", "is_view", "replayable", "last_gap")

    def __init__(self, name, cost, ins, outs, workspace=0, is_view=False, replayable=True):
        self.name = name
        self.cost = cost  # ns
        self.workspace = workspace  # bytes
        self.ins = ins  # distinct values read, constants included
        self.outs = outs  # distinct values made
        self.is_view = is_view
        self.replayable = replayable
        # It can run again before this step and not later: a constant it reads is then written.
        self.last_gap = None


class Value:
    """One storage."""

    __slots__ = ("bytes", "producer", "persistent", "start", "last_held", "required")

    def __init__(self, size, producer, start, persistent=False):
        self.bytes = size
        self.producer = producer  # index of an op, None for a constant
        self.persistent = persistent  # a constant that is there from the first op to the end
        self.start = start  # the first step it is there
        self.last_held = None  # the last step at which it is referenced
        self.required = []  # steps at which it must be resident, ascending; from its production

    @property
    def is_constant(self):
        return self.producer is None


class Program:
    """Filled by a reader through add_*, release and write_constant; then finish()."""

    def __init__(self):
        self.ops = []
        self.values = []
        self.end = 0  # step of the end, the number of ops
        self.end_set = []  # values resident at the end
        self.base_cost = 0  # ns of one pass, as `cebus replay` has it
        self.need = []  # bytes of non-constants and workspace at each step, the end included
        self.least_need = []  # the same with writes in place where nobody reads the old value
        self.constant_bytes = []  # bytes of constants at each step
        self.base_peak = 0
        self.writes = {}  # constant -> steps that write it, ascending
        self.overwritten = []  # (step, value that an output of the op is written over)

    def add_constant(self, size, persistent):
        """A value from outside, there from the next op on."""
        start = 0 if persistent else len(self.ops)
        self.values.append(Value(size, None, start, persistent))
        return len(self.values) - 1

    def add_op(self, name, cost, ins, out_sizes, workspace=0, is_view=False, replayable=True):
        """Returns the indices of the storages made, one for each size."""
        step = len(self.ops)
        first = len(self.values)
        for size in out_sizes:
            self.values.append(Value(size, step, step))
        outs = list(range(first, len(self.values)))
        ins = list(dict.fromkeys(ins))
        self.ops.append(Op(name, cost, ins, outs, workspace, is_view, replayable))
        return outs

    def write_constant(self, value):
        """The op added last writes this constant in place."""
        self.writes.setdefault(value, []).append(len(self.ops) - 1)

    def overwrite(self, value):
        """The op added last writes an output over this value, which is no constant."""
        self.overwritten.append((len(self.ops) - 1, value))

    def release(self, value):
        """The last reference went, after the op added last."""
        self.values[value].last_held = len(self.ops) - 1

    def finish(self):
        """Everything is known: fills in what is derived."""
        if not self.ops:
            raise TraceError("the trace has no ops")
        self.end = len(self.ops)
        self._require()
        self._forbid_reruns()
        if not any(op.cost for op in self.ops):
            raise TraceError("the trace has no costs: no overhead can be told")
        self.base_cost = sum(max(1, op.cost) for op in self.ops) + self.calls_between
        self._measure()
        return self

    @property
    def calls_between(self):
        """ns of a pass outside its ops: one for each constant it makes and one for its end."""
        return 1 + sum(value.is_constant and not value.persistent for value in self.values)

    def _require(self):
        for value in self.values:
            if value.persistent or value.last_held is None:
                value.last_held = self.end
            if not value.is_constant:
                value.required.append(value.producer)
        for step, op in enumerate(self.ops):
            if op.is_view:
                continue
            for v in op.ins:
                self.values[v].required.append(step)
        for v, value in enumerate(self.values):
            if not value.is_constant and value.last_held == self.end:
                value.required.append(self.end)
                self.end_set.append(v)

    def _forbid_reruns(self):
        for step, op in enumerate(self.ops):
            op.last_gap = self.end
            for v in op.ins:
                writes = self.writes.get(v)
                if writes:
                    later = [w for w in writes if w >= step]
                    op.last_gap = min([op.last_gap] + later[:1])
            if not op.replayable:
                op.last_gap = -1

    def _measure(self):
        size = [value.bytes for value in self.values]
        self.need = [0 if op.is_view else op.workspace
                     + sum(size[v] for v in op.ins if not self.values[v].is_constant)
                     + sum(size[v] for v in op.outs) for op in self.ops]
        self.need.append(sum(size[v] for v in self.end_set))
        self.least_need = list(self.need)
        for step, v in self.overwritten:
            value = self.values[v]
            if value.required[-1] == step:
                self.least_need[step] -= value.bytes
        constant = [0] * (self.end + 2)
        live = [0] * (self.end + 2)
        for value in self.values:
            curve = constant if value.is_constant else live
            if value.last_held >= value.start:
                curve[value.start] += value.bytes
                curve[value.last_held + 1] -= value.bytes
        for step in range(1, self.end + 1):
            constant[step] += constant[step - 1]
            live[step] += live[step - 1]
        self.constant_bytes = constant[:self.end + 1]
        scratch = [0 if op.is_view else op.workspace for op in self.ops] + [0]
        self.base_peak = max(map(sum, zip(constant, live, scratch)))

    def held_bytes(self):
        """Bytes at each step of what is read later, was made before and cannot be made again."""
        held = [0] * (self.end + 2)
        for value in self.values:
            if value.is_constant or len(value.required) < 2:
                continue
            # Strictly between two steps that need it, from where it can no longer be rebuilt.
            first = max(value.producer, self.ops[value.producer].last_gap)
            for a, b in zip(value.required, value.required[1:]):
                a = max(a + 1, first)
                if a < b:
                    held[a] += value.bytes
                    held[b] -= value.bytes
        for step in range(1, self.end + 1):
            held[step] += held[step - 1]
        return held[:self.end + 1]

    def floor(self, swapping=False):
        """What a step needs at most: constants, inputs, outputs and workspace of its op, writes
        out of place, and, unless it can be swapped, what must be held."""
        held = [0] * (self.end + 1) if swapping else self.held_bytes()
        return max(map(sum, zip(self.need, self.constant_bytes, held)))

    def intervals(self, v):
        """The (a, b) between which the value is not needed, b being its next use."""
        required = self.values[v].required
        return [(a, b) for a, b in zip(required, required[1:]) if b - a > 1]

    def next_required(self, v, step):
        """The first step after this one that needs the value, or None."""
        required = self.values[v].required
        i = bisect_right(required, step)
        return required[i] if i < len(required) else None
