"""Time, as the linear program of program order divides it.

*Rows* are the steps at which memory is bounded, t_0 < t_1 < ...; some of them are *common points*,
and some of these points of a value. Slot j is what lies between the start of step t_(j-1) and the
start of step t_j: reruns before step t_j and copies that begin then. An op's slots are grouped into
*windows*: cut where an interval of one of its outputs begins or ends, and at points of its outputs.
"""
from bisect import bisect_left, bisect_right


class Slots:
    """Steps to rows and slots; windows of ops; which intervals have rows inside. `points`: value ->
    common points, as steps, at which it is told apart."""

    def __init__(self, outline, rows, commons, points):
        self.program = outline.program
        self.rows = sorted(rows)
        self.row_of = {step: j for j, step in enumerate(self.rows)}
        self.commons = [j for j, step in enumerate(self.rows) if step in commons]
        self.spans = []  # (value, first row inside, last row inside) of intervals between uses
        self._boundaries = {}  # op -> slots at which a window of it begins
        self._windows = {}
        for v, a, b in outline.intervals:
            first, last = bisect_right(self.rows, a), bisect_left(self.rows, b) - 1
            if first <= last:
                self.spans.append((v, first, last))
                begins = self._boundaries.setdefault(self.program.values[v].producer, set())
                begins |= {first + 1, last + 2}
        self._points = {v: sorted(self.row_of[step] for step in steps)
                        for v, steps in points.items()}
        for v, own in self._points.items():
            begins = self._boundaries.setdefault(self.program.values[v].producer, set())
            begins |= {k + 1 for k in own}

    def before(self, step):
        """The slot in which the step starts, or ends with its start."""
        return bisect_left(self.rows, step)

    def after(self, step):
        """The slot that begins with the start of this step, a row; 0 for a step before all rows."""
        return bisect_right(self.rows, step)

    def steps_of(self, first, last):
        """Rows between whose starts these slots lie; -1 and the end + 1 where there is none."""
        begin = self.rows[first - 1] if first > 0 else -1
        return begin, self.rows[last] if last < len(self.rows) else self.program.end + 1

    def commons_in(self, first, last):
        """Common points among these rows."""
        return self.commons[bisect_left(self.commons, first):bisect_right(self.commons, last)]

    def points_in(self, v, first, last):
        """Points of a value among these rows."""
        own = self._points.get(v, [])
        return own[bisect_left(own, first):bisect_right(own, last)]

    def windows(self, o):
        """(first slot, last slot) of each window of an op, in order, from its first run on."""
        found = self._windows.get(o)
        if found is None:
            first = bisect_right(self.rows, o)
            begins = self._boundaries.get(o, set())
            starts = [first] + sorted(s for s in begins if first < s <= len(self.rows))
            found = list(zip(starts, [s - 1 for s in starts[1:]] + [len(self.rows)]))
            self._windows[o] = found
        return found

    def touching(self, o, first, last):
        """Numbers of the op's windows that have slots in common with these."""
        return [i for i, (s, e) in enumerate(self.windows(o)) if s <= last and e >= first]

    def inside(self, o, begin, end):
        """Numbers of the op's windows that lie between the starts of two steps."""
        first, last = self.after(begin), self.before(end)
        return [i for i, (s, e) in enumerate(self.windows(o)) if first <= s and e <= last]

    def can_rerun(self, o, i):
        """Op o may run again somewhere in its window i."""
        begin, _ = self.steps_of(*self.windows(o)[i])
        return max(begin, o) < self.program.ops[o].last_gap
