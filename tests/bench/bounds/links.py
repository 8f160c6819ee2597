"""Cuts about the link: copies that must fit between two moments take at most the time between.

Copies in: what begins after the start of a row's step and is needed by step u is over by then.
Copies out: what is made by step p or later and is on the host at a common point came out between.
The time between two moments is that of the ops of the pass, of reruns, and of stalls.
"""
from .model import COPIES

VIOLATED = 1e-5  # of a pass
CUTS_A_ROUND = 200


class LinkCut:
    """`begin` and `end` are steps; inward: from the start of `begin`, a row, else from its end."""

    __slots__ = ("inward", "begin", "end")
    stage = COPIES

    def __init__(self, inward, begin, end):
        self.inward = inward
        self.begin = begin
        self.end = end

    def key(self):
        return self.inward, self.begin, self.end

    def add_to(self, model):
        if self.inward:
            copies = [copy for copy in _copies_in(model, self.begin) if copy[1] <= self.end]
        else:
            copies = [copy for copy in _copies_out(model, self.end) if copy[1] >= self.begin]
        passed, waits = self.time(model)
        terms = [(x, model.copies.time_of(v)) for v, _, x in copies]
        model.lp.at_most(terms + [(x, -coef) for x, coef in waits], passed)

    def time(self, model):
        """(part of the pass, terms of reruns and stalls) between the two moments, at most."""
        slots, cost_from = model.slots, model.outline.cost_from
        begin = self.begin if self.inward else self.begin + 1
        first = slots.after(begin) if self.inward else slots.before(begin)
        waits = model.copies.waits(first, slots.before(self.end))
        return cost_from[begin] - cost_from[self.end] + model.outline.between, waits


def _copies_in(model, begin):
    """(value, step before which it is needed, variable) of copies that begin after this row."""
    first = model.slots.after(begin)
    return [(v, needed, x) for v, start, needed, x in model.copies.fetch_list() if start >= first]


def _copies_out(model, end):
    """(value, step that made it, variable) of copies that are over at this common point."""
    values = model.program.values
    saved = model.copies.saved_list(model.slots.row_of[end])
    return [(v, values[v].producer, x) for v, x in saved]


def violated_links(model):
    """The most violated link cuts of a solution."""
    found = []
    for begin in model.rows:
        copies = sorted(_copies_in(model, begin), key=lambda copy: copy[1])
        _collect(model, found, copies, lambda needed, b=begin: LinkCut(True, b, needed))
    for k in model.slots.commons:
        end = model.rows[k]
        copies = sorted(_copies_out(model, end), key=lambda copy: -copy[1])
        _collect(model, found, copies, lambda made, e=end: LinkCut(False, made, e))
    found.sort(key=lambda pair: -pair[0])
    return [cut for _, cut in found[:CUTS_A_ROUND]]


def _collect(model, found, copies, make):
    """Of the prefixes of the copies, in the order of their moments, the one that is most over."""
    total, worst, worst_cut = 0.0, VIOLATED, None
    for i, (v, moment, x) in enumerate(copies):
        total += model.copies.time_of(v) * model.x[x]
        if total < worst or i + 1 < len(copies) and copies[i + 1][1] == moment:
            continue
        cut = make(moment)
        passed, waits = cut.time(model)
        if total - passed > worst:
            over = total - passed - sum(coef * model.x[x] for x, coef in waits)
            if over > worst:
                worst, worst_cut = over, cut
    if worst_cut:
        found.append((worst, worst_cut))
