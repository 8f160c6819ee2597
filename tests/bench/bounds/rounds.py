"""The bound of one budget: solves the model, finds what its solution violates, adds that, again.

Every round's optimum is a lower bound, so whatever is proven when the time is over stands. First
come rows only, until memory fits at every step: the simple form. Then the rows that bind become
common points, and cuts are added until they bring nothing more; then there are more common points,
and so on, while that helps."""
import time

from .branching import TRY, is_small, open_points, whole_at
from .cuts import Separator
from .late import CLASH, Late, memory_curve
from .linear import INFEASIBLE, OPTIMAL
from .links import violated_links
from .model import Model
from .outline import Outline
from .rounding import rounded_memory

TOLERANCE = 1e-5  # of the budget
ROWS_A_ROUND = 16
PRESENCES = 60000  # variables at common points: with so many there are no more such points
CHAIN_LINKS = 30000  # values in chains, at most about this many
IDLE_ROUNDS = 3  # rounds that may pass without a gain
GAIN = 1e-5  # of overhead: what counts as one
STAGE_ROUND_GAIN = 1e-4  # the same while more common points may bring more
COMMON_POINTS = (16, 32, 64, 128, 256)  # to go on with when cuts bring nothing more
APART = 4  # of as many parts of the program as there are common points: how far apart new ones are
LINEAR_PART = 0.6  # of the time, at most, for all but branching, where there is any
CHAIN_STAGES = 1  # stages with chains
STAGE_GAIN = 3e-4  # of overhead: a stage that brings less was not worth it
BRANCHED = 40000  # rows of the largest model that is branched on
MORE_POINTS = 8  # common points that one round of branching may add
DEADLINE_BYTES = 0.01  # of the budget: reruns that need less can be anywhere
DEADLINES = 64  # rows that are there for reruns only, at most


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
        self.points = {}  # value -> common points that are its own
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
                _, self.last, self.rows, self.commons, self.points, self.cuts = stage
                self._branch_at_points()
                self._branch()
        return bound

    def _model(self):
        return Model(self.outline, self.budget, self.rows, self.commons, self.points, self.chained,
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
                self.binding = {step: solution.multipliers[model.memory_rows[j]]
                                for j, step in enumerate(model.rows)}
                return
            self.rows |= more

    def _tight(self):
        """Common points and cuts, in stages: the row that binds most, all that bind, more."""
        if not self.rows:
            return
        binding = self._binding_apart()
        stages = [lambda: binding[:1], lambda: binding]
        stages += [lambda count=count: self._clashes(count) for count in COMMON_POINTS]
        for number, choose in enumerate(stages):
            before, is_first = self.bound.value, number < CHAIN_STAGES
            if not is_first:
                self.chained.clear()  # many common points make many chains: cuts take their place
            if self._add_commons(choose(), is_first):
                self._converge(STAGE_ROUND_GAIN)
            self._keep_paid(before)
        if self.commons:
            before = self.bound.value
            self._converge(GAIN)
            self._keep_paid(before)

    def _binding_apart(self):
        """Rows that bind, the strongest first, no two of them close."""
        apart = max(1, self.outline.program.end // 100)
        found = []
        for step in sorted(self.rows, key=lambda step: -self.binding[step]):
            if self.binding[step] > 1e-9 and all(abs(step - other) >= apart for other in found):
                found.append(step)
        return found

    def _add_commons(self, steps, with_chains):
        """Those that are new, while they are affordable; returns whether there was one."""
        if self._count_points() > PRESENCES:
            return False
        new = [step for step in steps if step not in self.commons]
        self.rows |= set(new)
        self.commons |= set(new)
        for step in (step for step in new if with_chains and self.binding.get(step, 0.0) > 1e-9):
            # Those with chains pay for ancestors once for each later common point.
            links = sum(k * sum(other >= k for other in self.commons)
                        for k in self.chained | {step})
            if links <= CHAIN_LINKS:
                self.chained.add(step)
                self._point((v, step) for v in self.outline.tracked
                            if self.outline.program.values[v].producer < step)
        return bool(new)

    def _point(self, places):
        """Adds (value, step); returns whether there was one that is new."""
        before = self._count_points()
        for v, step in places:
            self.points.setdefault(v, set()).add(step)
        return self._count_points() > before

    def _count_points(self):
        return sum(map(len, self.points.values()))

    def _clashes(self, count):
        """Steps for more common points, up to `count` in all: where the last solution is no
        schedule, the worst first, none close to another."""
        over = Late(self.last).clashes(list(self.commons)) / self.budget
        near = max(1, len(over) // (APART * count))
        found = []
        while len(self.commons) + len(found) < count and over.max() > CLASH:
            step = int(over.argmax())
            found.append(step)
            over[max(0, step - near):step + near + 1] = 0.0
        return found

    def _converge(self, least):
        """Rounds of cuts and rows until they bring less than that a few times."""
        idle, before = 0, 0.0
        while idle < IDLE_ROUNDS:
            model, solution = self._solve()
            idle = idle + 1 if solution.bound - before < least else 0
            before = solution.bound
            self._age(model, solution)
            if not self._separate(model):
                return

    def _separate(self, model):
        """Adds rows and cuts that the model's solution violates; returns whether there are any."""
        found = Separator(model)
        paths, places = found.paths(), found.points()
        places |= {(v, cut.begin) for cut in paths for v in cut.path}
        cuts = paths + found.rooms() + rounded_memory(model)
        cuts += violated_links(model) if self.rate else []
        cuts = [cut for cut in cuts if cut.key() not in self.cuts]
        more = set(peaks(memory_curve(model), self.budget, ROWS_A_ROUND)) - self.rows
        more |= self._find_deadlines(model)
        self.rows |= more
        self.cuts.update((cut.key(), (cut, 0)) for cut in cuts)
        pointed = self._point(places)
        return bool(more or cuts or pointed)

    def _stage(self):
        """What is proven so far, and the program that is at hand."""
        points = {v: set(steps) for v, steps in self.points.items()}
        return (self.bound.value, self.last, set(self.rows), set(self.commons), points,
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
            self.last, model.x = model, x
            more = self._add_commons(self._clashes(len(self.commons) + MORE_POINTS), False)
            if not self._separate(model) and not more:
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
