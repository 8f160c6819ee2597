"""What all linear programs of one trace share: which values count, when they are not needed, and
how much memory each step would take with nothing evicted."""
import numpy as np

# Values are left out, the smallest first, until this part of the peak is gone: they count as always
# there, at no bytes. Logs have thousands of scalars.
NEGLIGIBLE = 1e-4


class Outline:
    """Of a finished Program. With `swapping` constants that do not persist may be swapped, too:
    then only ops that read them, and the end, have them for certain."""

    def __init__(self, program, swapping=False):
        self.program = program
        values = program.values
        self.pinned_bytes = sum(value.bytes for value in values if value.persistent)
        self.need, self.constant_bytes = program.least_need, program.constant_bytes
        held = program.held_bytes()
        if swapping:
            self._let_leaves_swap()
            held = [0] * len(held)
        # No budget below this can do: the floor, with writes in place, and leaves as said above.
        self.least_budget = max(map(sum, zip(self.need, self.constant_bytes, held)))
        self.tracked = self._choose()
        self.required = {v: set(values[v].required) for v in self.tracked}
        self.intervals = [(v, a, b) for v in sorted(self.tracked)
                          for a, b in program.intervals(v)]
        self.sizes = np.array([values[v].bytes for v, _, _ in self.intervals], dtype=float)
        self.parents = [[v for v in op.ins if v in self.tracked] for op in program.ops]
        costs = np.array([max(1, op.cost) for op in program.ops] + [0], dtype=float)
        self.cost_from = costs[::-1].cumsum()[::-1] / program.base_cost  # and from the end: 0
        self.between = program.calls_between / program.base_cost  # at any time
        self.curve = self._unevicted()

    def _let_leaves_swap(self):
        program = self.program
        self.constant_bytes = [self.pinned_bytes] * (program.end + 1)
        self.need = list(self.need)
        for value in program.values:
            if value.is_constant and not value.persistent:
                held = [program.end] if value.last_held == program.end else []
                for step in value.required + held:
                    self.need[step] += value.bytes

    def _choose(self):
        values = self.program.values
        by_size = sorted((v for v, value in enumerate(values) if not value.is_constant),
                         key=lambda v: values[v].bytes)
        left = NEGLIGIBLE * self.program.base_peak
        for i, v in enumerate(by_size):
            left -= values[v].bytes
            if left < 0:
                return set(by_size[i:])
        return set()

    def _unevicted(self):
        """Bytes at each step when all that will be read again is kept and nothing else."""
        change = np.zeros(self.program.end + 2)
        for (_, a, b), size in zip(self.intervals, self.sizes):
            change[a + 1] += size
            change[b] -= size
        needed = np.array(self.need) + np.array(self.constant_bytes)
        return change.cumsum()[:-1] + needed.astype(float)
