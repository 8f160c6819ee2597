"""Where a solution cannot be a schedule: all it makes again, as late as it can.

In the linear program what comes back in a window is there for all uses in it, and takes no memory
until the window's end. Here it comes back just before the first step, or the first rerun, that
reads it, and stays until its next use. Where that takes more than the budget the solution lives on
what its windows do not tell, so a common point there tells most.
"""
import numpy as np

SHARE = 1e-3  # of a rerun: less is not looked at
CLASH = 1e-3  # of the budget: bytes too many at a step that are worth a common point


def memory_curve(model):
    """Least bytes at each step that the solution's reruns and fetches allow."""
    outline, values = model.outline, model.program.values
    curve = outline.curve.copy()
    returned = model.returned_values()
    for v, a, b in outline.intervals:
        if v not in returned:
            continue
        o, share, end = values[v].producer, 0.0, model.slots.before(b)
        for first, last in reversed(model.slots.windows(o)):
            if first > end:
                continue
            after, until = model.slots.steps_of(first, last)
            if until <= a + 1:
                break
            share += model.rerun_sum(o, first, first) + model.fetch_sum(v, first, first)
            curve[max(after, a + 1):min(until, b)] -= values[v].bytes * min(share, 1.0)
    return curve


class Late:
    """The reruns of one solution, each as late as it can be."""

    def __init__(self, model):
        self.model, self.program = model, model.program
        self.reads = {}  # value -> steps before which a rerun reads it
        self.change = np.zeros(self.program.end + 2)
        self.momentary = np.zeros(self.program.end + 1)  # what reruns before a step take beside it
        for o, first, last, share in sorted(model.rerun_shares(), reverse=True):
            if share > SHARE:
                self._run(o, model.slots.steps_of(first, last), share)
        for v, first, last, share in model.fetches_in():
            begin, until = model.slots.steps_of(first, last)
            self._stay(v, min([until] + self._uses(v, begin, until)), until, share)

    def clashes(self, known):
        """Bytes over the budget at each step that is not known: of what stays; where that is
        nowhere too much, also of what runs again just before the step."""
        held = memory_curve(self.model) + self.change[:-1].cumsum() - self.model.budget
        for over in (held, held + self.momentary):
            over[known] = 0.0
            if over.max() > CLASH * self.model.budget:
                break
        return np.maximum(over, 0.0)

    def _run(self, o, window, share):
        """What reads the outputs has run before, being later in the program."""
        begin, until = window
        outs = [v for v in self.program.ops[o].outs if v in self.model.outline.tracked]
        when = min([until] + [t for v in outs for t in self._uses(v, begin, until)])
        self._take(o, min(when, self.program.end), share)
        for z in self.model.outline.parents[o]:
            self.reads.setdefault(z, []).append(when)
        for v in outs:
            self._stay(v, when, until, share)

    def _take(self, o, when, share):
        """What op o needs and the step does not have there as it begins. It is told apart by
        common points at that step and at the one before."""
        outline, values, op = self.model.outline, self.program.values, self.program.ops[o]
        reads = self.program.end_set if when == self.program.end else self.program.ops[when].ins
        there = sum(values[v].bytes for v in reads if not values[v].is_constant)
        stays = sum(values[v].bytes for v in op.ins + op.outs if not values[v].is_constant
                    and self.program.next_required(v, when - 1) is not None)
        more = share * (outline.need[o] - stays) - max(0, outline.need[when] - there)
        for step in (when - 1, when):
            self.momentary[step] = max(self.momentary[step], more)

    def _uses(self, v, begin, until):
        """Steps of the window before which v is read."""
        use = self.program.next_required(v, max(begin, self.program.values[v].producer))
        found = [use] if use is not None and use <= until else []
        return found + [t for t in self.reads.get(v, ()) if begin < t <= until]

    def _stay(self, v, when, until, share):
        """From there on to its next use, or the last rerun in the window that reads it."""
        use = self.program.next_required(v, when - 1)
        if use is None:
            use = max([when] + [t for t in self.reads.get(v, ()) if t <= until])
        end = min(use, until)
        if when < end:
            size = self.program.values[v].bytes * min(1.0, share)
            self.change[when] += size
            self.change[end] -= size
