"""The part of the linear program of program order that is about copies to the host and back.

Variables, in [0, 1] like the others:
  fetch(v, w)    a copy-in of v begins in window w of its producer
  saved(v, k)    v's host copy is complete at the start of step t_k, k a common point; k None: ever
and stall(j) >= 0, the time that compute waits within slot j. A value is copied out at most once, as
it does not change; each direction of the link carries one byte at a time.
"""
STALL_LIMIT = 10.0  # passes; a bound above that is cut to it


class Copies:
    """Of one model."""

    def __init__(self, model, rate):
        self.model, self.slots, self.lp = model, model.slots, model.lp
        self.program = model.program
        self.rate = rate
        self._fetch, self._saved = {}, {}
        self._stall = []
        self._list = None

    def time_of(self, v):
        """Of one copy of a value, in passes."""
        return self.program.values[v].bytes / self.rate / self.program.base_cost

    # --- variables ------------------------------------------------------------------------------

    def fetches(self, v, first, last):
        """Variables of copies in that begin in windows that touch these slots."""
        found = []
        for i in self.slots.touching(self.program.values[v].producer, first, last):
            if (v, i) not in self._fetch:
                self._fetch[v, i] = self.lp.add_variable()
            found.append(self._fetch[v, i])
        return found

    def _saved_at(self, v, k):
        if (v, k) not in self._saved:
            self._saved[v, k] = self.lp.add_variable()
        return self._saved[v, k]

    def _window(self, v, i):
        return self.slots.windows(self.program.values[v].producer)[i]

    def fetch_list(self):
        """(value, slot from which on it begins, step before which it is over, variable) of every
        copy in. For a fetch to count it must be over before the first step after its window's begin
        that needs the value: what returns first after an absence is."""
        if self._list is None:
            self._list = []
            for (v, i), x in self._fetch.items():
                start, _ = self._window(v, i)
                after, _ = self.slots.steps_of(start, start)
                made = self.program.values[v].producer
                needed = self.program.next_required(v, max(after, made))
                self._list.append((v, start, self.program.end if needed is None else needed, x))
        return self._list

    def saved_list(self, k):
        """(value, variable) of what may be on the host at a common point."""
        return [(v, x) for (v, other), x in self._saved.items() if other == k]

    def waits(self, first, last):
        """Terms of the time, beyond the pass, that these slots may take."""
        terms = [(x, 1.0) for x in self._stall[first:last + 1]]
        return terms + [(x, self.lp.cost[x]) for _, s, e, x in self.model.all_reruns()
                        if s <= last and e >= first]

    # --- rows of the program --------------------------------------------------------------------

    def save_absent(self, v, k, present, end):
        """What is absent at k and not made again by slot `end`, its next use, is on the host."""
        back = self.model.reruns(self.program.values[v].producer, k + 1, end)
        terms = [(x, 1.0) for x in back] + [(present, 1.0), (self._saved_at(v, k), 1.0)]
        self.lp.at_least(terms, 1.0)

    def complete(self):
        """Once all fetches are known: saves before them, and limits in time."""
        for (v, i), x in list(self._fetch.items()):
            _, last = self._window(v, i)
            later = [k for k in self.slots.commons if k >= last and (v, k) in self._saved]
            saved = self._saved_at(v, later[0] if later else None)
            self.lp.at_most([(x, 1.0), (saved, -1.0)], 0.0)
        for v in {v for v, _ in self._saved}:
            points = [k for k in self.slots.commons if (v, k) in self._saved] + [None]
            for a, b in zip(points, points[1:]):
                self.lp.at_most([(self._saved_at(v, a), 1.0), (self._saved_at(v, b), -1.0)], 0.0)
        count = len(self.slots.rows) + 1
        self._stall = [self.lp.add_variable(1.0, STALL_LIMIT, False) for _ in range(count)]
        self._limit_fetches()
        self._limit_saves()

    def _limit_fetches(self):
        """From the start of each row's step on, copies in take at most the time that is left."""
        begun = [[] for _ in self._stall]
        spent = [[(x, 1.0)] for x in self._stall]
        for v, start, _, x in self.fetch_list():
            begun[start].append((x, self.time_of(v)))
        for _, _, last, x in self.model.all_reruns():
            spent[last].append((x, self.lp.cost[x]))
        copied = left = None  # variables: sums over this slot and all later ones
        for slot in reversed(range(len(self._stall))):
            after, _ = self.slots.steps_of(slot, slot)
            copied = self._sum(begun[slot], copied)
            left = self._sum(spent[slot], left)
            terms = [(x, sign) for x, sign in ((copied, 1.0), (left, -1.0)) if x is not None]
            outline = self.model.outline
            self.lp.at_most(terms, outline.cost_from[max(after, 0)] + outline.between)

    def _limit_saves(self):
        """Until the start of each common point's step, copies out take at most the time so far."""
        for k in {k for _, k in self._saved}:
            last = len(self.slots.rows) if k is None else k
            step = self.program.end if k is None else self.slots.rows[k]
            terms = [(x, self.time_of(v)) for v, x in self.saved_list(k)]
            terms += [(x, -coef) for x, coef in self.waits(0, last)]
            self.lp.at_most(terms, 1.0 - self.model.outline.cost_from[step])  # `between` included

    def _sum(self, terms, rest):
        """A variable that equals the terms plus another such variable (None: nothing)."""
        if not terms:
            return rest
        upper = sum(coef * self.lp.upper[x] for x, coef in terms)
        if rest is not None:
            upper += self.lp.upper[rest]
            terms = terms + [(rest, 1.0)]
        x = self.lp.add_variable(0.0, upper, False)
        self.lp.equal(terms + [(x, -1.0)], 0.0)
        return x

    # --- the solution ---------------------------------------------------------------------------

    def fetch_sum(self, v, first, last):
        o = self.program.values[v].producer
        found = (self._fetch.get((v, i)) for i in self.slots.touching(o, first, last))
        return sum(self.model.x[x] for x in found if x is not None)

    def fetches_in(self):
        """(value, first slot, last slot, share) of all fetches."""
        return [(v,) + self._window(v, i) + (self.model.x[x],) for (v, i), x in self._fetch.items()
                if self.model.x[x] > 1e-9]

    def fetched_values(self):
        return {v for v, _, _, _ in self.fetches_in()}
