"""Cuts from the fact that a value is there or not: where few large values fill the memory, it holds
a whole number of them.

Let a_1 x_1 + a_2 x_2 + ... <= b hold for all schedules, the x_i facts (0 or 1), a_i >= 0; where
a_i < 0 take the fact's opposite, a_i x_i = a_i + |a_i| (1 - x_i). For any size d, with b = w d + f
and a_i = q_i d + r_i, remainders f and r_i below d, every schedule obeys (mixed-integer rounding)

    sum of (q_i + max(0, r_i - f) / (d - f)) x_i <= w

Proof. Count the x_i = 1 with r_i > f, the set S, as q_i + 1 units of d, the others as q_i: n units,
a whole number. With s = sum over S of (d - r_i), b is no less than sum a_i x_i >= n d - s, and the
left side above is n - s / (d - f). If n <= w, so is that. Else s >= n d - b = (n - w) d - f
>= (n - w) (d - f), and n - s / (d - f) <= w.
"""
from .model import MEMORY

VIOLATED = 1e-4  # of the budget
UNITS = 12  # sizes that are tried for one row
CUTS_A_ROUND = 200


def rounded(terms, room, unit):
    """A row {variable: bytes} <= room in units of a size: the same as (terms, room). Sizes are
    whole numbers; nothing but the one division is inexact."""
    room -= sum(size for size in terms.values() if size < 0)
    rest = room % unit
    found = {}
    for x, size in terms.items():
        units, left = divmod(abs(size), unit)
        share = units + max(0, left - rest) / (unit - rest)
        if share > 0:
            found[x] = share if size > 0 else -share
    return found, room // unit + sum(share for share in found.values() if share < 0)


class MemoryCut:
    """The memory of a step, a row, in units of a size."""

    __slots__ = ("step", "unit")
    stage = MEMORY

    def __init__(self, step, unit):
        self.step = step
        self.unit = unit

    def key(self):
        return self.step, self.unit

    def add_to(self, model):
        terms, room = rounded(*model.memory(model.slots.row_of[self.step]), self.unit)
        scale = self.unit / model.budget
        model.lp.at_most([(x, share * scale) for x, share in terms.items()], room * scale)


def rounded_memory(model):
    """For each row the one of them that a solution violates most; of these the worst."""
    found = []
    for j, step in enumerate(model.rows):
        terms, room = model.memory(j)
        sizes = {abs(size) for x, size in terms.items() if 1e-3 < model.x[x] < 1.0 - 1e-3}
        for unit in sorted(sizes, reverse=True)[:UNITS]:
            shares, most = rounded(terms, room, unit)
            over = sum(share * model.x[x] for x, share in shares.items()) - most
            found.append((over * unit / model.budget, step, unit))
    worst = {}
    for over, step, unit in sorted(found):
        worst[step] = over, unit
    found = sorted(((over, step, unit) for step, (over, unit) in worst.items()), reverse=True)
    return [MemoryCut(step, unit) for over, step, unit in found[:CUTS_A_ROUND] if over > VIOLATED]
