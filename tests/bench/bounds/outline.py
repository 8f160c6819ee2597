"""What all linear programs of one trace share: which values count, when they are not needed, and
how much memory each step would take with nothing evicted."""
import numpy as np

# Values are left out, the smallest first, until this part of the peak is gone: they count as always
# there, at no bytes. Logs have thousands of scalars.
NEGLIGIBLE = 1e-5


class Outline:
    """Of a finished Program."""

    def __init__(self, program):
        self.program = program
        values = program.values
        self.tracked = self._choose()
        self.required = {v: set(values[v].required) for v in self.tracked}
        self.intervals = [(v, a, b) for v in sorted(self.tracked)
                          for a, b in program.intervals(v)]
        self.sizes = np.array([values[v].bytes for v, _, _ in self.intervals], dtype=float)
        self.parents = [[v for v in op.ins if v in self.tracked] for op in program.ops]
        costs = np.array([op.cost for op in program.ops] + [0], dtype=float)
        self.cost_from = costs[::-1].cumsum()[::-1] / program.base_cost
        self.curve = self._unevicted()
        self.pinned_bytes = sum(value.bytes for value in values if value.persistent)

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
        needed = np.array(self.program.need) + np.array(self.program.constant_bytes)
        return change.cumsum()[:-1] + needed.astype(float)
