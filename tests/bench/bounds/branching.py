"""Branch and bound one common point after another.

Every schedule is a point of the program whose variables are all 0 or 1, so it stays one wherever
only some of them have to be: whichever these are, the optimum is a bound. With all of some thousand
at once branch and bound settles facts that hardly matter and ends nowhere. But what is held at one
step where memory binds are tens of values, and much of the program follows from them. So the facts
of a few steps are taken whole, the others may hold by half.
"""

FEW = 300  # facts of all common points: so few are taken whole at once
LARGE = 0.01  # of the budget: bytes of a value whose presence is taken whole
SETTLED = 1e-3  # of the budget for each fact: where less is open facts are as good as whole
TRY = 0.5  # of the time that is left, for one more common point


def facts_of(model):
    """{common point: its facts, variable -> part of the budget}, large ones."""
    found = {}
    for (v, k), x in model.presences():
        part = model.program.values[v].bytes / model.budget
        if part > LARGE:
            found.setdefault(model.rows[k], {})[x] = part
    return found


def is_small(model):
    """Whether all facts can be taken whole at once."""
    return sum(map(len, facts_of(model).values())) <= FEW


def open_points(model):
    """Common points, first the one that leaves most bytes open for each of its facts: few facts
    that are far from whole are soon settled. Where all are as good as whole it is none."""
    found = []
    for step, facts in facts_of(model).items():
        left = sum(part * min(model.x[x], 1.0 - model.x[x]) for x, part in facts.items())
        if left / len(facts) > SETTLED:
            found.append((left / len(facts), step))
    return [step for _, step in sorted(found, reverse=True)]


def whole_at(model, steps):
    """Which variables are taken whole where the facts of these steps are."""
    whole = [False] * len(model.lp.cost)
    for step, facts in facts_of(model).items():
        if step in steps:
            for x in facts:
                whole[x] = True
    return whole
