"""Cuts: inequalities that every schedule obeys and the plain model does not know.

A path cut: v is absent at common point k and next needed at step u. Then it is fetched or its
producer reruns in between; in the latter case the same holds for each input of the producer that is
absent at k. So along any path v, v1, .., vd of ancestors:

    sum over the path of (present(vi, k) + fetch(vi, (k, u])) + rerun(producer of vd, (k, u]) >= 1

and the same, with the share of the rerun in place of 1, from a rerun of an op in a window.

A room cut: while op o reruns in a window, its inputs, outputs and workspace are there beside every
value that is needed before and after the window and does not come back between the two:

    sum over v of bytes(v) (1 - returns(v, w until its next use)) <= room - lost rerun(o, w)

where `room` is what the steps at both ends of the window leave for those values, and `lost` how
much less o leaves.
"""
import heapq
from bisect import bisect_right

from .model import REST

VIOLATED = 1e-4
VISITS = 200  # ancestors looked at for one source
CUTS_A_SOURCE = 6
CUTS_A_ROUND = 3000
ROOM_CUTS_A_ROUND = 200


class PathCut:
    """`window`: steps between whose starts the op `source` reruns; source None: the cut starts from
    the absence of the path's first value."""

    __slots__ = ("source", "window", "begin", "end", "path")
    stage = REST

    def __init__(self, source, window, begin, end, path):
        self.source = source
        self.window = window
        self.begin = begin  # step of the common point
        self.end = end  # step before which the path's first value, or the source, is wanted
        self.path = path  # values, each an input of the producer of the one before

    def key(self):
        return self.source, self.window, self.begin, self.end, self.path

    def add_to(self, model):
        k = model.slots.row_of[self.begin]
        last = model.slots.before(self.end)
        terms = {}
        for v in self.path:
            terms[model.present(v, k)] = 1.0
            terms.update((x, 1.0) for x in model.fetches(v, k + 1, last))
        terms.update(model.returns(self.path[-1], k + 1, last))
        if self.source is None:
            model.lp.at_least(list(terms.items()), 1.0)
            return
        for x in model.reruns_inside(self.source, *self.window):
            if x not in terms:
                model.lp.at_least(list(terms.items()) + [(x, -1.0)], 0.0)


class RoomCut:
    """`beside`: (value, its next use after the window)."""

    __slots__ = ("op", "window", "beside")
    stage = REST

    def __init__(self, op, window, beside):
        self.op = op
        self.window = window
        self.beside = beside

    def key(self):
        return self.op, self.window, self.beside

    def add_to(self, model):
        program, budget = model.program, model.budget
        first = model.slots.after(self.window[0])
        terms = {}
        room, lost = rooms(model, self.op, self.window, [v for v, _ in self.beside])
        for v, use in self.beside:
            share = program.values[v].bytes / budget
            room -= program.values[v].bytes
            for x, _ in model.returns(v, first, model.slots.before(use)):
                terms[x] = terms.get(x, 0.0) - share
        for x in model.reruns_inside(self.op, *self.window):
            total = dict(terms)
            total[x] = total.get(x, 0.0) + lost / budget
            model.lp.at_most(list(total.items()), room / budget)


def rooms(model, o, window, beside):
    """(bytes left for the values beside by the steps at the ends of the window, how much less op o
    leaves)"""
    program, beside = model.program, set(beside)
    room = model.budget - model.outline.pinned_bytes
    left = room - model.outline.need[o]
    for step in window:
        if 0 <= step <= program.end:
            op = None if step == program.end else program.ops[step]
            mine = set(op.ins) | set(op.outs) if op else set(program.end_set)
            own = sum(program.values[v].bytes for v in mine & beside)
            taken = model.outline.need[step] + model.outline.constant_bytes[step]
            room = min(room, model.budget - taken + own)
    return room, max(0, room - left)


class Separator:
    """Cuts that one solution violates."""

    def __init__(self, model):
        self.model = model
        self.program = model.program
        self.parents = model.outline.parents
        self._sums, self._presences = {}, {}
        self._returned = model.returned_values()
        self._found = []  # (score, cut)

    def _rerun(self, o, first, last):
        key = o, first, last
        if key not in self._sums:
            self._sums[key] = self.model.rerun_sum(o, first, last)
        return self._sums[key]

    def _presence(self, v, k, last):
        """Share of a value that is there at a common point or copied in by slot `last`."""
        if (v, k) not in self._presences:
            self._presences[v, k] = self.model.presence(v, k)
        return self._presences[v, k] + self.model.fetch_sum(v, k + 1, last)

    def points(self):
        """(value, step) of common points that may tell apart what comes back: where a window in
        which an op reruns, or a value is copied in, holds some, the last ones in it, the farther
        from its end the fewer."""
        slots, found = self.model.slots, set()
        for v, first, last in self.model.returns_in():
            inside = slots.commons_in(first, last - 1)
            distance = 1
            while distance <= len(inside):
                found.add((v, slots.rows[inside[-distance]]))
                distance *= 2
        return found

    def paths(self):
        """The most violated path cuts."""
        model = self.model
        for k in model.slots.commons:
            begin = model.rows[k]
            for v, share in model.absences(k):
                end = self.program.next_required(v, begin)
                last = model.slots.before(end)
                weight = share + model.fetch_sum(v, k + 1, last)
                o = self.program.values[v].producer
                starts = [(weight, parent, (v, parent)) for parent in self.parents[o]]
                self._explore(k, last, 1.0, starts, (None, None, begin, end))
        for o, first, last, share in model.rerun_shares():
            i = bisect_right(model.slots.commons, first - 1) - 1
            if i >= 0 and share > VIOLATED:
                k, window = model.slots.commons[i], model.slots.steps_of(first, last)
                starts = [(0.0, parent, (parent,)) for parent in self.parents[o]]
                self._explore(k, last, share, starts, (o, window, model.rows[k], window[1]))
        self._found.sort(key=lambda pair: -pair[0])
        return [cut for _, cut in self._found[:CUTS_A_ROUND]]

    def _explore(self, k, last, wanted, starts, head):
        """Ancestors by rising weight of what could make the rerun of the next one needless."""
        model, values, ops = self.model, self.program.values, self.program.ops
        heap, seen, found = list(starts), set(), []
        heapq.heapify(heap)
        while heap and len(seen) < VISITS:
            weight, v, path = heapq.heappop(heap)
            if v in seen or model.is_free(v, k):
                continue
            seen.add(v)
            weight += self._presence(v, k, last)
            if weight > wanted - VIOLATED:
                continue
            o = values[v].producer
            missing = wanted - weight - self._rerun(o, k + 1, last)
            if missing > VIOLATED:
                found.append((missing * (ops[o].cost / self.program.base_cost + 1e-6), path))
            for parent in self.parents[o]:
                if parent not in seen:
                    heapq.heappush(heap, (weight, parent, path + (parent,)))
        found.sort(reverse=True)
        self._found += [(score, PathCut(*head, path)) for score, path in found[:CUTS_A_SOURCE]]

    def rooms(self):
        """The most violated room cuts."""
        model = self.model
        beside = {}  # slots -> what is held over them
        found = []
        for o, first, last, share in model.rerun_shares():
            if share < VIOLATED:
                continue
            if (first, last) not in beside:
                beside[first, last] = self._held_over(first, last)
            op = self.program.ops[o]
            own = set(op.ins) | set(op.outs)
            held = [(v, use, part) for v, use, part in beside[first, last] if v not in own]
            window = model.slots.steps_of(first, last)
            room, lost = rooms(model, o, window, [v for v, _, _ in held])
            used = sum(self.program.values[v].bytes * part for v, _, part in held)
            over = (used + lost * share - room) / model.budget
            if over > VIOLATED:
                found.append((over, RoomCut(o, window, tuple((v, use) for v, use, _ in held))))
        found.sort(key=lambda pair: -pair[0])
        return [cut for _, cut in found[:ROOM_CUTS_A_ROUND]]

    def _held_over(self, first, last):
        """(value, next use, share) of what is held over these slots and does not come back."""
        model = self.model
        after, until = model.slots.steps_of(first, last)
        found = []
        for v, a, b in model.outline.intervals:
            if a > after or b < until:
                continue
            part = 1.0
            if v in self._returned:
                end = model.slots.before(b)
                part -= self._rerun(self.program.values[v].producer, first, end)
                part -= model.fetch_sum(v, first, end)
            if part > 1e-6:
                found.append((v, b, part))
        return found
