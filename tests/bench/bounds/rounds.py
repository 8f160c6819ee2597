"""The bound of one budget: solves the model, finds what its solution violates, adds that, again.

Every round's optimum is a lower bound, so whatever is proven when the time is over stands. First
come rows only, until memory fits at every step: the simple form. Then the rows that bind become
common points, and cuts are added until they bring nothing more; then there are more common points,
and so on, while that helps."""
import time

import numpy as np

from .branching import TRY, is_small, open_points, whole_at
from .cuts import Separator
from .linear import INFEASIBLE, OPTIMAL
from .links import violated_links
from .model import Model
from .outline import Outline
from .rounding import rounded_memory

TOLERANCE = 1e-5  # of the budget
ROWS_A_ROUND = 16
PRESENCES = 60000  # variables at common points, at most about this many
CHAIN_LINKS = 30000  # values in chains, at most about this many
IDLE_ROUNDS = 3  # rounds that may pass without a gain
GAIN = 1e-5  # of overhead: what counts as one
COMMON_POINTS = (8, 16, 32, 64)  # to go on with when cuts bring nothing more
LINEAR_PART = 0.6  # of the time, at most, for all but branching, where there is any
CHAIN_STAGES = 1  # stages with chains
NARROWEST = 2  # steps apart are two common points between which there may be another
STAGE_GAIN = 3e-4  # of overhead: stages that bring less are poor
POOR_STAGES = 3  # of them in a row are the last ones
BRANCHED = 40000  # rows of the largest model that is branched on
DEADLINE_BYTES = 0.01  # of the budget: reruns that need less can be anywhere
DEADLINES = 64  # rows that are there for reruns only, at most


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


def peaks(curve, budget, many):
    """Steps over the budget, the highest of each of equal parts of the time."""
    part = max(1, (len(curve) + many - 1) // many)
    found = []
    for begin in range(0, len(curve), part):
        step = begin + int(curve[begin:begin + part].argmax())
        if curve[step] > budget * (1.0 + TOLERANCE):
            found.append(step)
    return found


class Bound:
    """What is proven: a lower bound on overhead - 1, and how."""

    def __init__(self):
        self.value = 0.0
        self.status = "simple"
        self.rounds = 0


class Ended(Exception):
    """There is no more to prove: the time is over, or the budget cannot do."""


class Rounds:
    """Bounds of one trace for one budget after another; what was found for one helps the next."""

    def __init__(self, program, rate=0.0, log=None):
        self.outline = Outline(program, rate > 0)
        self.rate = rate
        self.log = log or (lambda text: None)
        self.rows = set()
        self.binding = {}  # row -> multiplier in the simple form

    def least_budget(self):
        """No budget below this can do."""
        return self.outline.least_budget

    def run(self, budget, seconds):
        bound = Bound()
        budget = min(budget, self.outline.program.base_peak)
        self.budget, self.bound, self.last = budget, bound, None
        start = time.monotonic()
        self.deadline, self.end = start + LINEAR_PART * seconds, start + seconds
        self.commons, self.chained, self.deadlines = set(), set(), 0
        self.paid = None  # what the last stage that was worth it ended with
        self.cuts = {}  # key -> (cut, rounds it did not bind)
        self.rows = set(peaks(self.outline.curve, budget, ROWS_A_ROUND))
        try:
            self._simple()
            self._tight()
            bound.status = "optimal"
        except Ended:
            pass
        if bound.status != "infeasible" and self.last and self.commons:
            for stage in self._stages_to_branch():
                _, self.last, self.rows, self.commons, self.chained, self.cuts = stage
                self._branch_at_points()
                self._branch()
        return bound

    def _model(self):
        return Model(self.outline, self.budget, self.rows, self.commons, self.chained,
                     [cut for cut, _ in self.cuts.values()], self.rate)

    def _solve(self):
        """One round: (model, solution)."""
        start = time.monotonic()
        model = self._model()
        is_branched = model.lp.count_at_most() <= BRANCHED
        deadline = self.deadline if is_branched else self.end
        solution = model.solve(deadline - time.monotonic())
        bound = self.bound
        bound.rounds += 1
        if solution.status == OPTIMAL:
            bound.value = max(bound.value, solution.bound)
            bound.status = "time" if self.commons else "simple"
        self.log(f"  round {bound.rounds}: {len(self.rows)} rows, {len(self.commons)} common "
                 f"points, {len(self.cuts)} cuts, {len(model.lp.cost)} variables, "
                 f"{solution.status} {bound.value:.6f}, {time.monotonic() - start:.2f} s")
        if solution.status == INFEASIBLE:
            bound.status = "infeasible"
        if solution.status != OPTIMAL:
            raise Ended
        self.last = model
        return model, solution

    def _simple(self):
        """Rows where memory is over the budget until there are no more."""
        while self.rows:
            model, solution = self._solve()
            more = set(peaks(memory_curve(model), self.budget, ROWS_A_ROUND)) - self.rows
            if not more:
                self._widths(model)
                self.binding = {step: solution.multipliers[model.memory_rows[j]]
                                for j, step in enumerate(model.rows)}
                return
            self.rows |= more

    def _widths(self, model):
        """How many presences a common point at each row needs."""
        change = np.zeros(len(model.rows) + 1)
        for _, first, last in model.slots.spans:
            change[first] += 1
            change[last + 1] -= 1
        self.width = dict(zip(model.rows, change.cumsum()))

    def _tight(self):
        """Common points and cuts, in stages: the row that binds most, all that bind, more."""
        if not self.rows:
            return
        binding = self._binding_apart()
        stages = [lambda: binding[:1], lambda: binding]
        stages += [lambda count=count: self._between(count) for count in COMMON_POINTS]
        poor = 0
        for number, choose in enumerate(stages):
            before, is_first = self.bound.value, number < CHAIN_STAGES
            if not is_first:
                self.chained.clear()  # many common points make many chains: cuts take their place
            if self._add_commons(choose(), is_first):
                self._converge()
            self._keep_paid(before)
            poor = poor + 1 if not is_first and self.bound.value - before < STAGE_GAIN else 0
            if poor == POOR_STAGES:
                return

    def _binding_apart(self):
        """Rows that bind, the strongest first, no two of them close."""
        apart = max(1, self.outline.program.end // 100)
        found = []
        for step in sorted(self.rows, key=lambda step: -self.binding[step]):
            if self.binding[step] > 1e-9 and all(abs(step - other) >= apart for other in found):
                found.append(step)
        return found

    def _add_commons(self, steps, with_chains):
        """As many as are affordable; returns whether there was one."""
        mean = sum(self.width.values()) / len(self.width)
        room = max(1, int(PRESENCES / max(1.0, mean)))
        new = [step for step in steps if step not in self.commons]
        new = new[:max(0, room - len(self.commons))]
        self.rows |= set(new)
        self.commons |= set(new)
        for step in (step for step in new if with_chains and self.binding.get(step, 0.0) > 1e-9):
            # Those with chains pay for ancestors once for each later common point.
            links = sum(k * sum(other >= k for other in self.commons)
                        for k in self.chained | {step})
            if links <= CHAIN_LINKS:
                self.chained.add(step)
        return bool(new)

    def _between(self, count):
        """Steps to make `count` common points: again and again the middle of the gap in which most
        reruns and copies may lie, or of the widest."""
        curve = self.outline.curve
        hot = np.flatnonzero(curve > self.budget)
        points = sorted(self.commons | {int(hot[0]) - 1, int(hot[-1]) + 1})
        before = np.concatenate(([0.0], self._returning().cumsum()))
        found = []
        while len(self.commons) + len(found) < count:
            gaps = [(round(before[b] - before[a + 1], 9), b - a, i)
                    for i, (a, b) in enumerate(zip(points, points[1:])) if b - a >= NARROWEST]
            if not gaps:
                break
            wide = max(gaps)[2]
            a, b = points[wide], points[wide + 1]
            third = (b - a) // 3
            step = a + third + int(curve[a + third:b - third].argmax())
            found.append(min(max(step, a + 1), b - 1))
            points.insert(wide + 1, found[-1])
        return found

    def _returning(self):
        """Time of reruns and copies in of the last solution at each step, spread over windows."""
        model, end = self.last, self.outline.program.end
        change = np.zeros(end + 2)
        for first, last, time_taken in model.returning():
            begin, until = model.slots.steps_of(first, last)
            begin, until = max(begin, 0), min(until, end)
            if begin < until:
                change[begin] += time_taken / (until - begin)
                change[until] -= time_taken / (until - begin)
        return change[:-1].cumsum()

    def _converge(self):
        """Rounds of cuts and rows until they bring nothing more."""
        idle, before = 0, 0.0
        while idle < IDLE_ROUNDS:
            model, solution = self._solve()
            idle = idle + 1 if solution.bound - before < GAIN else 0
            before = solution.bound
            self._age(model, solution)
            if not self._separate(model):
                return

    def _separate(self, model):
        """Adds rows and cuts that the model's solution violates; returns whether there are any."""
        found = Separator(model)
        cuts = found.paths() + found.rooms() + rounded_memory(model)
        cuts += violated_links(model) if self.rate else []
        cuts = [cut for cut in cuts if cut.key() not in self.cuts]
        more = set(peaks(memory_curve(model), self.budget, ROWS_A_ROUND)) - self.rows
        more |= self._find_deadlines(model)
        self.rows |= more
        self.cuts.update((cut.key(), (cut, 0)) for cut in cuts)
        return bool(more or cuts)

    def _stage(self):
        """What is proven so far, and the program that is at hand."""
        return (self.bound.value, self.last, set(self.rows), set(self.commons), set(self.chained),
                dict(self.cuts))

    def _keep_paid(self, before):
        """Notes the program at hand where it proves enough more than before."""
        if self.paid is None or self.bound.value - before >= STAGE_GAIN:
            self.paid = self._stage()

    def _stages_to_branch(self):
        """The last stage that was worth it, as common points after it make the program larger and
        branching slower; then, if there is time, the last of all."""
        last = self._stage()
        if self.paid and self.paid[1] is not self.last and last[0] - self.paid[0] < STAGE_GAIN:
            return [self.paid, last]
        return [last]

    def _branch_at_points(self):
        """Branches on the facts of one common point, then on those of another beside it, and so on
        while that is settled in time and pays."""
        model, settled, pays = self.last, set(), not is_small(self.last)
        while pays and model.lp.count_at_most() <= BRANCHED and time.monotonic() < self.end:
            points = [step for step in open_points(model) if step not in settled]
            if not points:
                return
            settled.add(points[0])
            before, left = self.bound.value, self.end - time.monotonic()
            x = self._solve_whole(model, TRY * left, settled)
            pays = x is not None and self.bound.value - before >= STAGE_GAIN
            model.x = x if pays else model.x

    def _solve_whole(self, model, seconds, steps=None):
        """A model where all facts are whole, or those of these steps; its point if the optimum was
        found in time."""
        start = time.monotonic()
        value, x, is_best = model.lp.solve_whole(seconds, steps and whole_at(model, steps))
        if value is not None:
            self.bound.value = max(self.bound.value, value)
        self.log(f"  branching on {sorted(steps) if steps else 'all'}: {len(self.rows)} rows, "
                 f"{len(self.cuts)} cuts, {value} -> {self.bound.value:.6f}, "
                 f"{time.monotonic() - start:.2f} s")
        return x if is_best else None

    def _branch(self):
        """The last model again, now with facts that hold or do not, and with the cuts that its
        solution violates; until there are none or the time is over."""
        model = self.last
        while model.lp.count_at_most() <= BRANCHED and time.monotonic() < self.end:
            x = self._solve_whole(model, self.end - time.monotonic())
            if x is None or time.monotonic() > self.end:
                self.bound.status = "time"
                return
            model.x = x
            if not self._separate(model):
                return
            model = self._model()

    def _find_deadlines(self, model):
        """Steps that wait for reruns, those that need most memory first: with a row there, reruns
        before it and after it are told apart."""
        windows, need = {}, {}
        for o, first, last, share in model.rerun_shares():
            windows.setdefault(o, []).append((first, last, share * self.outline.need[o]))
        for v, _, last in model.slots.spans:
            o = self.outline.program.values[v].producer
            for first, end, used in windows.get(o, ()):
                if first <= last + 1 <= end and used > DEADLINE_BYTES * self.budget:
                    step = self.outline.program.next_required(v, model.rows[last])
                    need[step] = max(need.get(step, 0), used)
        order = sorted(set(need) - self.rows, key=lambda step: -need[step])
        found = set(order[:min(ROWS_A_ROUND, DEADLINES - self.deadlines)])
        self.deadlines += len(found)
        return found

    def _age(self, model, solution):
        """Cuts that did not bind for some rounds go."""
        kept = {}
        for key, (cut, age) in self.cuts.items():
            binds = (solution.multipliers[model.cut_rows[key]] > 1e-12).any()
            age = 0 if binds else age + 1
            if age < 3:
                kept[key] = (cut, age)
        self.cuts = kept
