"""Plans: what goes when and comes back how. For captured iterations, by search (`graph.advise()`,
`cebus/advise.h`); of policies that plan, as files (`cebus/plan.h`).

    graph = cebus.capture(optimizers=[optimizer])
    with graph:
        ...
    plan = graph.advise("2GiB", time_limit=30)
    graph.set_plan(plan)                            # launches follow it; the bits are the same
    plan.save("net.json")
    graph.set_plan("net.json")                      # in another process, the same iteration
"""
import json
import os

from . import _core

__all__ = ["Plan", "save_plans", "load_plans", "plan_summary"]

NUMBERS = ("memory", "time_ns", "ideal_ns", "height")
# Columns of each table, and the largest number in each: of 32 bits, but for places and lengths.
TABLES = {"steps": (2,), "copies": (4,), "blocks": (7,)}
WIDE = 1 << 63
# Copies of a device that does not say how fast they are: (out, in, both) bytes/s, ns before each.
LINK = (10 * 10 ** 9, 10 * 10 ** 9, 20 * 10 ** 9, 10000)


class Plan:
    """A plan for a captured iteration."""

    def __init__(self, numbers, link):
        self.numbers, self.link = numbers, tuple(link)

    @property
    def seconds(self):
        """An iteration, as foreseen."""
        return self.numbers["time_ns"] * 1e-9

    @property
    def ideal_seconds(self):
        """An iteration with memory for everything."""
        return self.numbers["ideal_ns"] * 1e-9

    @property
    def memory(self):
        """Bytes that it was made for."""
        return self.numbers["memory"]

    @property
    def recomputes(self):
        """Calls that run again."""
        return sum(again for _, again in self.numbers["steps"])

    @property
    def copies(self):
        """Between device and host."""
        return len(self.numbers["copies"])

    def __repr__(self):
        return (f"<cebus.Plan of {len(self.numbers['steps'])} steps in {self.memory} bytes: "
                f"{self.recomputes} again, {self.copies} copies, {self.seconds * 1e3:.3f} ms of "
                f"{self.ideal_seconds * 1e3:.3f} with all the memory>")

    def save(self, path):
        """Writes it in the format of `cebus advise`, with the link."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"cebus_plan": 1, "machine": "", "link": list(self.link), **self.numbers},
                      file)

    @classmethod
    def load(cls, path):
        """Reads what save() wrote. Nothing in it is trusted: set_plan() runs it on paper first."""
        with open(path, encoding="utf-8") as file:
            try:
                data = json.load(file)
            except (ValueError, RecursionError) as error:
                raise _core.InvalidArgumentError(f"{path}: this is no plan: {error}") from None
        return cls(*_checked(data, path))


def _whole(value, most, least=0):
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < most


def _checked(data, path):
    """(numbers, link) of a file; what is wrong is said."""
    if not isinstance(data, dict) or data.get("cebus_plan") != 1:
        raise _core.InvalidArgumentError(f"{path}: this is no plan: \"cebus_plan\" is not 1")
    for name in NUMBERS:
        if not _whole(data.get(name), WIDE):
            raise _core.InvalidArgumentError(f"{path}: \"{name}\" is missing, or no number from 0")
    program = data.get("program")
    if not isinstance(program, str) or len(program) != 16 or \
            not set(program) <= set("0123456789abcdef"):
        raise _core.InvalidArgumentError(f"{path}: \"program\" is missing, or no 16 hexadecimal "
                                         "digits")
    for name, (width,) in TABLES.items():
        _check_table(data.get(name), name, width, path)
    link = data.get("link", LINK)
    if not isinstance(link, (list, tuple)) or len(link) != 4 or \
            not all(_whole(each, WIDE) for each in link):
        raise _core.InvalidArgumentError(f"{path}: \"link\" is no list of four numbers")
    return {name: data[name] for name in ("program", *NUMBERS, *TABLES)}, link


def _check_table(rows, name, width, path):
    if not isinstance(rows, list):
        raise _core.InvalidArgumentError(f"{path}: \"{name}\" is missing, or no list")
    for i, row in enumerate(rows):
        good = isinstance(row, list) and len(row) == width and all(
            _whole(cell, WIDE if name == "blocks" and k in (1, 2) else
                   3 if name == "blocks" and k in (3, 5) else
                   2 if k == 1 else 1 << 32, -1 if k == 0 and name == "blocks" else 0)
            for k, cell in enumerate(row))
        if not good:
            raise _core.InvalidArgumentError(f"{path}: \"{name}\", row {i}: this is no row of a "
                                             "plan")


def link_of(device, link):
    """(out, in, both, latency): what was given (one number of bytes/s, or several), or the
    machine's own."""
    if link is None:
        return _core._machine_link(device) or LINK
    if isinstance(link, (int, float)):
        link = (link, link)
    link = [int(each) for each in link]
    if len(link) not in (2, 3, 4) or any(each < 0 for each in link):
        raise _core.InvalidArgumentError(f"link is {link}: give bytes/s, or (out, in), "
                                         "(out, in, both), (out, in, both, latency in ns)")
    both = link[2] if len(link) > 2 else link[0] + link[1]
    return link[0], link[1], both, link[3] if len(link) > 3 else LINK[3]


def save_plans(path, device=None):
    """Writes what the policy worked out for the iterations of this program, so that its next run
    need not: `load_plans()` there."""
    _core._plans_save(os.fspath(path), device)


def load_plans(path, device=None):
    """Reads plans of save_plans(). They are held to the program and to the budget before they are
    used, and never decide a result."""
    _core._plans_load(os.fspath(path), device)


def plan_summary(device=None):
    """One line on the last iteration that a policy's plan guided, and warnings."""
    return _core._plan_summary(device)
