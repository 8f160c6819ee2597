"""The linear program for schedules that may reorder the ops of the trace.

Whatever the order, ancestors of op t have run when t first starts and descendants have not: so a
value made by an ancestor and read by a descendant is then held, or comes back later. What holds for
one order and not for another is not used, which makes these bounds weaker than those of program
order; they are the ones to compare a policy with that reorders.

Variables, all in [0, 1]:
  rerun(o, w)  op o runs again in window w; windows lie between the first starts of a chain of ops
               that read outputs of o and follow each other in any order
  held(v, w..) v's bytes are held when certain ops start; the windows are those where it comes back
  copied(v, w..) it is not held then and comes back by a copy
and stall >= 0, the time that compute waits.
"""
import time

import numpy as np

from .copies import STALL_LIMIT
from .linear import INFEASIBLE, OPTIMAL, LinearProgram
from .outline import Outline
from .rounds import ROWS_A_ROUND, Bound, peaks


class Order:
    """Which op must follow which: through values, and through constants written in place."""

    def __init__(self, program):
        count = len(program.ops)
        self.before = np.zeros((count, (count + 7) // 8), dtype=np.uint8)
        readers, writer = {}, {}
        for step, op in enumerate(program.ops):
            mine = self.before[step]
            direct = {program.values[v].producer for v in op.ins} - {None}
            for v in op.ins:
                if program.values[v].is_constant and program.writes.get(v):
                    if v in writer:
                        direct.add(writer[v])
                    if step in program.writes[v]:
                        direct |= readers.pop(v, set())
                        writer[v] = step
                    else:
                        readers.setdefault(v, set()).add(step)
            for o in direct - {step}:
                mine |= self.before[o]
                mine[o >> 3] |= 128 >> (o & 7)

    def ancestors(self, t):
        return np.unpackbits(self.before[t], count=len(self.before)).astype(bool)

    def descendants(self, t):
        return (self.before[:, t >> 3] & (128 >> (t & 7))) != 0

    def follows(self, a, b):
        """Op b runs after op a in any order."""
        return bool(self.before[b, a >> 3] & (128 >> (a & 7)))


class AnyOrder:
    """Bounds of one trace for one budget after another."""

    def __init__(self, program, rate=0.0, log=None):
        self.outline, self.program, self.rate = Outline(program, rate > 0), program, rate
        self.log = log or (lambda text: None)
        self.order = Order(self.program)
        self.rows = set()
        values = self.program.values
        self.tracked = np.array(sorted(self.outline.tracked), dtype=int)
        self.sizes = np.array([values[v].bytes for v in self.tracked], dtype=float)
        self.makers = np.array([values[v].producer for v in self.tracked], dtype=int)
        uses = [values[v].required[1:] for v in self.tracked]
        self.ends = np.array([self.program.end in u for u in uses], dtype=bool)
        uses = [[s for s in u if s != self.program.end] for u in uses]
        self.use = np.array([s for u in uses for s in u], dtype=int)
        self.user = np.array([i for i, u in enumerate(uses) for _ in u], dtype=int)
        self.chains = {}
        self.curve = self._curve()

    def _constants_at(self, t, before, after):
        """Bytes of the constants that are there whatever the order."""
        total = self.outline.pinned_bytes
        for value in [] if self.rate else self.program.values:
            if value.is_constant and not value.persistent:
                uses = value.required
                begun = any(before[s] or s == t for s in uses)
                if begun and (value.last_held == self.program.end
                              or any(after[s] or s == t for s in uses)):
                    total += value.bytes
        return total

    def between(self, t):
        """(indices of tracked values that are made before op t and read after it in any order,
        bytes that t needs beside them)."""
        before, after = self.order.ancestors(t), self.order.descendants(t)
        wanted = self.ends.copy()
        wanted[self.user[after[self.use]]] = True
        wanted &= before[self.makers]
        wanted[self.user[self.use == t]] = False
        needed = self.outline.need[t] + self._constants_at(t, before, after)
        return np.flatnonzero(wanted), needed

    def _curve(self):
        curve = np.zeros(self.program.end)
        for t, op in enumerate(self.program.ops):
            if not op.is_view:
                held, needed = self.between(t)
                curve[t] = needed + self.sizes[held].sum()
        return curve

    def least_budget(self):
        """No budget below this can do."""
        needed = [self.between(t)[1] for t, op in enumerate(self.program.ops) if not op.is_view]
        end = self.outline.need[-1] + self.outline.constant_bytes[-1]
        return max([end] + needed)

    def chain(self, o):
        """Ops that read outputs of o, each following the one before."""
        if o not in self.chains:
            values = self.program.values
            uses = sorted({s for v in self.program.ops[o].outs for s in values[v].required[1:]})
            found = []
            for s in uses:
                if s < self.program.end and (not found or self.order.follows(found[-1], s)):
                    found.append(s)
            self.chains[o] = found
        return self.chains[o]

    def windows(self, v, t):
        """(first, last): where v comes back if it is absent when op t starts."""
        chain = self.chain(self.program.values[v].producer)
        first, last = 0, len(chain)
        for i, s in enumerate(chain):
            if s == t or self.order.follows(s, t):
                first = i + 1
            elif s in self.outline.required[v] and self.order.follows(t, s):
                last = i
                break
        return first, last

    def run(self, budget, seconds):
        bound = Bound()
        budget = min(budget, self.program.base_peak)
        deadline = time.monotonic() + seconds
        self.rows |= set(peaks(self.curve, budget, ROWS_A_ROUND))
        while self.rows:
            model = OrderModel(self, budget)
            solution = model.lp.solve(deadline - time.monotonic())
            if solution.status != OPTIMAL:
                bound.status = "infeasible" if solution.status == INFEASIBLE else "time"
                break
            bound.value = max(bound.value, solution.bound)
            bound.rounds += 1
            self.log(f"  round {bound.rounds}: {len(self.rows)} rows, {len(model.lp.cost)} "
                     f"variables, {bound.value:.6f}")
            more = set(peaks(model.left_curve(solution.x), budget, ROWS_A_ROUND)) - self.rows
            if not more:
                break
            self.rows |= more
        return bound


class OrderModel:
    """The program for some rows."""

    def __init__(self, parent, budget):
        self.parent, self.budget = parent, budget
        self.lp = LinearProgram()
        self.reruns, self.held, self.copied = {}, {}, {}
        self.saved = {}
        self.stall = self.lp.add_variable(1.0, STALL_LIMIT) if parent.rate else None
        rows = [self._row(t) for t in sorted(parent.rows)]
        if parent.rate:
            for t, copies in rows:
                self._limit(t, copies)
            self._limit_total()

    def _rerun(self, o, first, last):
        op = self.parent.program.ops[o]
        if not op.replayable:
            return []
        found = []
        for w in range(first, last + 1):
            if (o, w) not in self.reruns:
                cost = op.cost / self.parent.program.base_cost
                self.reruns[o, w] = self.lp.add_variable(cost)
            found.append((self.reruns[o, w], 1.0))
        return found

    def _held(self, v, key):
        """The variable, tied to what brings the value back in its windows."""
        if (v, key) not in self.held:
            x = self.held[v, key] = self.lp.add_variable()
            terms = [(x, 1.0)] + self._rerun(self.parent.program.values[v].producer, *key)
            if self.parent.rate:
                copy = self.copied[v, key] = self.lp.add_variable()
                terms.append((copy, 1.0))
                if v not in self.saved:
                    self.saved[v] = self.lp.add_variable()
                self.lp.at_most([(copy, 1.0), (self.saved[v], -1.0)], 0.0)
            self.lp.at_least(terms, 1.0)
        return self.held[v, key]

    def _row(self, t):
        """Memory when op t starts; returns t and the (value, windows) that count there."""
        parent = self.parent
        indices, needed = parent.between(t)
        terms, keys = [], []
        for i in indices:
            v = int(parent.tracked[i])
            key = parent.windows(v, t)
            terms.append((self._held(v, key), parent.sizes[i] / self.budget))
            keys.append((v, key))
        self.lp.at_most(terms, 1.0 - needed / self.budget)
        return t, keys

    def _time(self):
        """Terms of the time beyond one pass."""
        return [(self.stall, 1.0)] + [(x, self.lp.cost[x]) for x in self.reruns.values()]

    def _copy_time(self, v):
        program = self.parent.program
        return program.values[v].bytes / self.parent.rate / program.base_cost

    def _limit(self, t, keys):
        """What is absent at t and comes back by a copy was copied out before and comes in after;
        ancestors of t do not run after, nor its descendants before."""
        ops = self.parent.program.ops
        costs = np.array([max(1, op.cost) for op in ops]) / self.parent.program.base_cost
        copies = [(self.copied[key], self._copy_time(key[0])) for key in keys]
        terms = copies + [(x, -coef) for x, coef in self._time()]
        before = costs[self.parent.order.ancestors(t)].sum()
        after = costs[self.parent.order.descendants(t)].sum() + costs[t]
        self.lp.at_most(terms, 1.0 - max(before, after))

    def _limit_total(self):
        terms = [(x, self._copy_time(v)) for v, x in self.saved.items()]
        self.lp.at_most(terms + [(x, -coef) for x, coef in self._time()], 1.0)

    def left_curve(self, x):
        """Bytes at each op's start when all that comes back at any time is absent."""
        parent = self.parent
        share = {}
        for (o, _), var in self.reruns.items():
            share[o] = share.get(o, 0.0) + x[var]
        away = np.array([min(1.0, share.get(o, 0.0)) for o in parent.makers])
        for (v, _), var in self.copied.items():
            i = int(np.searchsorted(parent.tracked, v))
            away[i] = max(away[i], min(1.0, share.get(parent.makers[i], 0.0) + x[var]))
        curve = parent.curve.copy()
        for t in np.flatnonzero(curve > self.budget):
            indices, _ = parent.between(t)
            curve[t] -= (parent.sizes[indices] * away[indices]).sum()
        return curve
