"""The linear program of program order: what must be rerun or swapped so that memory fits.

Variables, all in [0, 1], each the indicator of a fact about a schedule, so that every schedule is a
point of the program at no more than its cost, and the optimum is a lower bound:
  rerun(o, w)    op o runs again in window w
  present(v, k)  v's bytes are held at the start of step t_k, k a common point of v
  kept(v, rows)  v's bytes are held at each of a run of rows between two such points
  chain(o, k, d) op o runs again in slots k+1 .. d
and those of copies.py. Bytes are in units of the budget, times in units of one pass.
"""
from bisect import bisect_left, bisect_right

from .copies import Copies
from .linear import LinearProgram
from .slots import Slots

# When a cut is added: when what it is about has all its variables.
REST, COPIES, MEMORY = range(3)


class Model:
    """One linear program and, once solved, its solution.

    `rows` are the steps whose memory is bounded; at those of `commons` values have variables of
    their own, each at its `points`, and from those of `chained` what is absent is followed to its
    ancestors. `rate` of the link is in bytes a nanosecond, 0 without swapping."""

    def __init__(self, outline, budget, rows, commons, points, chained=(), cuts=(), rate=0.0):
        self.outline, self.program, self.budget = outline, outline.program, budget
        self.slots = Slots(outline, rows, commons, points)
        self.rows = self.slots.rows
        self.lp = LinearProgram()
        self.x = None
        self.cut_rows = {}  # key of a cut -> its rows of the linear program
        self._rerun, self._present = {}, {}
        self._memory = [{} for _ in self.rows]  # variable -> bytes, of each row
        self._fixed = [0] * len(self.rows)  # bytes that no variable stands for
        self._wanted_at = {k: [] for k in self.slots.commons}
        self.copies = Copies(self, rate) if rate else None
        self._build(chained, cuts)

    def _build(self, chained, cuts):
        for v, first, last in self.slots.spans:
            self._add_span(v, first, last)
        for step in chained:
            self._add_chains(self.slots.row_of[step])
        self._add_cuts(cut for cut in cuts if cut.stage == REST)
        if self.copies:
            self.copies.complete()
            self._add_cuts(cut for cut in cuts if cut.stage == COPIES)
        self.memory_rows = [self._add_memory(j) for j in range(len(self.rows))]
        self._add_cuts(cut for cut in cuts if cut.stage == MEMORY)

    def _add_cuts(self, cuts):
        for cut in cuts:
            before = self.lp.count_at_most()
            cut.add_to(self)
            self.cut_rows[cut.key()] = slice(before, self.lp.count_at_most())

    # --- variables ------------------------------------------------------------------------------

    def reruns(self, o, first, last):
        """Variables of o's reruns in windows that touch these slots."""
        found = []
        for i in self.slots.touching(o, first, last):
            if not self.slots.can_rerun(o, i):
                continue
            if (o, i) not in self._rerun:
                cost = self.program.ops[o].cost / self.program.base_cost
                self._rerun[o, i] = self.lp.add_variable(cost)
            found.append(self._rerun[o, i])
        return found

    def reruns_inside(self, o, begin, end):
        """Variables, as far as there are any, of windows of o between the starts of two steps."""
        return [self._rerun[o, i] for i in self.slots.inside(o, begin, end)
                if (o, i) in self._rerun]

    def all_reruns(self):
        """(op, first slot, last slot, variable)"""
        return [(o,) + self.slots.windows(o)[i] + (x,) for (o, i), x in self._rerun.items()]

    def fetches(self, v, first, last):
        """Variables of v's copies in that begin in windows that touch these slots."""
        return self.copies.fetches(v, first, last) if self.copies else []

    def returns(self, v, first, last):
        """Terms of whatever brings v back in these slots."""
        found = self.reruns(self.program.values[v].producer, first, last)
        return [(x, 1.0) for x in found + self.fetches(v, first, last)]

    def present(self, v, k):
        """The variable; a value past its last use gets one when first asked for."""
        if (v, k) not in self._present:
            self._keep_past_use(v, k)
        return self._present[v, k]

    def presences(self):
        """((value, common point), variable) of all there are."""
        return self._present.items()

    def is_free(self, v, k):
        """Held at the row for certain, or at no price: a constant, a value too small to count, one
        that the step itself needs, one made later."""
        return (v not in self.outline.tracked or self.rows[k] in self.outline.required[v]
                or self.program.values[v].producer >= self.rows[k])

    # --- memory ---------------------------------------------------------------------------------

    def _hold(self, v, j, terms, constant=0):
        """v's bytes count at row j by these terms plus a constant."""
        size = self.program.values[v].bytes
        for x, coef in terms:
            self._memory[j][x] = self._memory[j].get(x, 0) + coef * size
        self._fixed[j] += constant * size

    def memory(self, j):
        """({variable: bytes}, bytes that they may come to) of a row."""
        step = self.rows[j]
        needed = self.outline.need[step] + self.outline.constant_bytes[step]
        return self._memory[j], self.budget - needed - self._fixed[j]

    def _add_memory(self, j):
        terms, room = self.memory(j)
        return self.lp.at_most([(x, size / self.budget) for x, size in terms.items()],
                               room / self.budget)

    def _add_present(self, v, k):
        x = self._present[v, k] = self.lp.add_variable()
        self._hold(v, k, [(x, 1)])
        return x

    def _add_span(self, v, first, last):
        """One interval between two uses: presence at common points, what is kept between them."""
        points = self.slots.points_in(v, first, last)
        held = [self._add_present(v, k) for k in points]
        begin = first
        for i, k in enumerate(points + [last + 1]):
            wanted = [(held[i], 1.0)] if i < len(points) else []  # or 1: the next use
            if begin < k:
                self._add_kept(v, begin, k, wanted)
            if i > 0:
                back = self.returns(v, points[i - 1] + 1, k) + [(held[i - 1], 1.0)]
                self.lp.at_least(back + [(x, -1.0) for x, _ in wanted], 0.0 if wanted else 1.0)
            begin = k + 1
        for k, x in zip(points, held):
            self._wanted_at[k].append(v)
            if self.copies:
                self.copies.save_absent(v, k, x, last + 1)

    def _add_kept(self, v, begin, k, wanted):
        """Rows begin .. k-1: what is held at k (a variable, or 1) and does not come back stays."""
        back = self.returns(v, begin + 1, k)
        if not wanted and len(back) <= 1:  # the row would say: one minus that
            for j in range(begin, k):
                self._hold(v, j, [(x, -1) for x, _ in back], 1)
            return
        x = self.lp.add_variable()
        terms = [(x, 1.0)] + back + [(y, -1.0) for y, _ in wanted]
        self.lp.at_least(terms, 0.0 if wanted else 1.0)
        for j in range(begin, k):
            self._hold(v, j, [(x, 1)])

    def _keep_past_use(self, v, k):
        """A value past its last use may be held for reruns that read it."""
        last_use = self.program.values[v].required[-1]
        points = self.slots.points_in(v, self.slots.after(last_use), k)
        for i, j in enumerate(points):
            if (v, j) in self._present:
                continue
            x = self._add_present(v, j)
            if i > 0:
                back = self.returns(v, points[i - 1] + 1, j)
                self.lp.at_least(back + [(self._present[v, points[i - 1]], 1.0), (x, -1.0)], 0.0)

    # --- chains ---------------------------------------------------------------------------------

    def _add_chains(self, k):
        """What is absent at common point k and next used before deadline d (a later common point,
        or the end) comes back in between, and so does what its producer reads and is absent."""
        commons = self.slots.commons
        later = commons[bisect_right(commons, k):] + [len(self.rows)]
        chains = {}  # d -> {op: variable of its rerun in these slots, or None}
        for v in self._wanted_at[k]:
            use = self.program.next_required(v, self.rows[k])
            d = later[bisect_left(later, self.slots.before(use))]
            self._add_chain(chains.setdefault(d, {}), k, d, v)

    def _add_chain(self, chain, k, d, v):
        """v and all its ancestors: each is there at k, or fetched, or made again if the op that
        reads it (None: the program itself) runs again."""
        stack = [(None, v)]
        while stack:
            reader, v = stack.pop()
            o = self.program.values[v].producer
            if o not in chain:
                chain[o] = self._chain_variable(o, k, d)
                if chain[o] is not None:
                    stack += [(o, z) for z in self.outline.parents[o] if not self.is_free(z, k)]
            terms = [(self.present(v, k), 1.0)]
            terms += [(x, 1.0) for x in self.fetches(v, k + 1, d)]
            if chain[o] is not None:
                terms.append((chain[o], 1.0))
            if reader is not None:
                terms.append((chain[reader], -1.0))
            self.lp.at_least(terms, 0.0 if reader is not None else 1.0)

    def _chain_variable(self, o, k, d):
        """Indicator of a rerun of o in slots k+1 .. d; None when it cannot run."""
        reruns = self.reruns(o, k + 1, d)
        if len(reruns) <= 1:
            return reruns[0] if reruns else None
        x = self.lp.add_variable()
        self.lp.at_least([(y, 1.0) for y in reruns] + [(x, -1.0)], 0.0)
        for y in reruns:
            self.lp.at_least([(x, 1.0), (y, -1.0)], 0.0)
        return x

    # --- the solution ---------------------------------------------------------------------------

    def solve(self, seconds):
        solution = self.lp.solve(seconds)
        self.x = solution.x
        return solution

    def presence(self, v, k):
        """Share of a value that is there at a common point; where it is none of the value's, what
        its next one or its next use says."""
        if (v, k) in self._present:
            return self.x[self._present[v, k]]
        use = self.program.next_required(v, self.rows[k])
        if use is None:
            return 0.0
        end, wanted = self.slots.before(use), 1.0
        later = self.slots.points_in(v, k + 1, end - 1)
        if later:
            end, wanted = later[0], self.x[self._present[v, later[0]]]
        o = self.program.values[v].producer
        back = self.rerun_sum(o, k + 1, end) + self.fetch_sum(v, k + 1, end)
        return min(1.0, max(0.0, wanted - back))

    def rerun_sum(self, o, first, last):
        found = (self._rerun.get((o, i)) for i in self.slots.touching(o, first, last))
        return sum(self.x[x] for x in found if x is not None)

    def fetch_sum(self, v, first, last):
        return self.copies.fetch_sum(v, first, last) if self.copies else 0.0

    def rerun_shares(self):
        """(op, first slot, last slot, share) of all reruns."""
        return [(o, s, e, self.x[x]) for o, s, e, x in self.all_reruns() if self.x[x] > 1e-9]

    def returns_in(self):
        """(value, first slot, last slot) of windows in which values come back."""
        found = [(v, s, e) for o, s, e, _ in self.rerun_shares() for v in self.program.ops[o].outs
                 if v in self.outline.tracked]
        return found + [(v, s, e) for v, s, e, _ in self.fetches_in()]

    def fetches_in(self):
        """(value, first slot, last slot, share) of all copies in."""
        return self.copies.fetches_in() if self.copies else []

    def absences(self, k):
        """(value, presence) of what is wanted later and not wholly there at a common point."""
        found = ((v, self.x[self._present[v, k]]) for v in self._wanted_at[k])
        return [(v, share) for v, share in found if share < 1.0 - 1e-6]

    def returned_values(self):
        """Values that reruns or fetches may bring back."""
        ops = {o for o, _, _, _ in self.rerun_shares()}
        found = {v for o in ops for v in self.program.ops[o].outs}
        return found | (self.copies.fetched_values() if self.copies else set())
