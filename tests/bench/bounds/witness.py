"""Random programs and random schedules of them, for the tests of the bounds.

A schedule is a witness: with its own peak as the budget it is feasible, so no bound for that budget
may exceed what it pays, at any size of program."""
from .program import Program


def random_program(rng, ops, values=10**9, sizes=(1, 6), unit=1, tick=1, plain=False):
    """A program of this many ops and at most so many values; sizes are multiples of `unit`, costs
    of `tick` ns. `plain`: constants persist and are not written, every op can run again."""
    program = Program()
    constants = [program.add_constant(rng.randint(1, 3) * unit, plain or rng.random() < 0.6)
                 for _ in range(rng.randint(0, 2))]
    alive = list(constants)
    for _ in range(ops):
        if not plain and rng.random() < 0.1:
            alive.append(program.add_constant(rng.randint(1, 3) * unit, False))
        ins = _random_inputs(rng, alive)
        is_view = not plain and rng.random() < 0.05
        count = 0 if is_view else min(rng.choice([1, 1, 1, 1, 2, 0]), values)
        values -= count
        alive += program.add_op(
            "op", rng.randint(1, 5) * tick, ins, [rng.randint(*sizes) * unit for _ in range(count)],
            workspace=0 if is_view else rng.choice([0, 0, 0, 1, 2]) * unit, is_view=is_view,
            replayable=plain or rng.random() < 0.93)
        for v in constants:
            if not plain and not is_view and v in ins and rng.random() < 0.15:
                program.write_constant(v)
        for v in list(alive):
            if rng.random() < 0.15:
                alive.remove(v)
                program.release(v)
    return program.finish()


def random_training(rng, layers, sizes=(1, 20)):
    """Forward and backward of so many layers, some with a second input or a second output."""
    program = Program()
    last, saved = program.add_constant(rng.randint(*sizes), True), []
    for i in range(layers):
        ins = [last]
        if i and rng.random() < 0.2:
            ins.append(rng.choice(saved)[1][0])
        outs = program.add_op("forward", rng.randint(1, 9), ins,
                              [rng.randint(*sizes) for _ in range(rng.choice([1, 1, 1, 2]))],
                              rng.choice([0, 0, rng.randint(*sizes)]))
        saved.append((ins, outs))
        last = outs[0]
    gradient = last
    for ins, outs in reversed(saved):
        needed = [gradient] + outs[1:] + rng.choice([ins, outs[:1], ins[:1]])
        size = program.values[ins[0]].bytes
        weight = [rng.randint(1, 3)] if rng.random() < 0.3 else []
        made = program.add_op("backward", rng.randint(1, 15), needed, [size] + weight)
        for v in {gradient, *outs}:
            program.release(v)
        gradient = made[0]
    return program.finish()


def _random_inputs(rng, alive):
    """Some recent values and some old ones."""
    recent = alive[-6:]
    ins = rng.sample(recent, min(len(recent), rng.choice([0, 1, 1, 2, 2, 3])))
    if alive and rng.random() < 0.5:
        ins.append(rng.choice(alive))
    return ins


def reorder(program, rng):
    """The same program with its ops in another order that keeps dependences. Persistent constants
    that are not written, and values released after their last use only."""
    left = [sum(1 for v in set(op.ins) if not program.values[v].is_constant) for op in program.ops]
    ready = [o for o, count in enumerate(left) if count == 0]
    new, names, order = Program(), {}, []
    for v, value in enumerate(program.values):
        if value.is_constant:
            names[v] = new.add_constant(value.bytes, True)
    readers = {}
    for o, op in enumerate(program.ops):
        for v in set(op.ins):
            readers.setdefault(v, []).append(o)
    while ready:
        o = ready.pop(rng.randrange(len(ready)))
        order.append(o)
        op = program.ops[o]
        outs = new.add_op(op.name, op.cost, [names[v] for v in op.ins],
                          [program.values[v].bytes for v in op.outs], op.workspace)
        names.update(zip(op.outs, outs))
        for v in op.outs:
            for reader in readers.get(v, []):
                left[reader] -= 1
                if left[reader] == 0:
                    ready.append(reader)
    held = {names[v] for v in program.end_set}
    for v, value in enumerate(new.values):
        if not value.is_constant and v not in held:
            new.release(v)
    return new.finish()


class Witness:
    """A random schedule of a plain program in its order: drops, copies, reruns on demand. Memory is
    an account of (time, change); what is let go at a time is gone before what comes then."""

    def __init__(self, program, rng, drop, swap=0.0, rate=None):
        self.program, self.rng, self.drop, self.swap, self.rate = program, rng, drop, swap, rate
        self.far = rng.choice([2, program.end // 8, program.end // 3])  # what is read sooner stays
        self.fate = [rng.random() for _ in program.values]  # dropped, copied out, or kept
        self.time = 0.0  # of compute
        self.out_free = self.in_free = 0.0  # times from which the link is idle
        self.there = {}  # value -> time from which it can be read
        self.host = {}  # value -> time at which its copy is complete
        self.gone = {}  # value -> time at which its bytes were let go
        self.account = []
        self._run()

    def _hold(self, when, size):
        self.account.append((when, size))

    def _run(self):
        program = self.program
        for step in range(program.end):
            self._call(step, step)
            for v in list(self.there):
                self._leave(v, step)
        self._need(program.end_set, program.end)
        self.overhead = (self.time - sum(op.cost for op in program.ops)) / program.base_cost
        held, self.peak = 0, 0
        for _, size in sorted(self.account):
            held += size
            self.peak = max(self.peak, held)
        self.peak += sum(value.bytes for value in program.values if value.is_constant)

    def _need(self, values, step):
        """Makes values readable, then waits until all of them are."""
        values = [v for v in values if not self.program.values[v].is_constant]
        for v in values:
            self._return(v, step)
        self.time = max([self.time] + [self.there[v] for v in values])

    def _return(self, v, step):
        """Starts v's copy in, or runs its producer again, which may in turn need others."""
        if v in self.there:
            return
        if v in self.host and self.rng.random() < 0.9:
            begin = max(self.in_free, self.host[v], self.time - self.rng.choice([0, 1, 5, 20]))
            begin = max(begin, self.gone[v])
            self.in_free = begin + self.program.values[v].bytes / self.rate
            self.there[v] = self.in_free
            self._hold(begin, self.program.values[v].bytes)
        else:
            self._call(self.program.values[v].producer, step)

    def _call(self, o, step):
        """Runs an op; inputs that came back for it alone stay until the step is over."""
        op = self.program.ops[o]
        self._need(op.ins, step)
        begin, self.time = self.time, self.time + op.cost
        self._hold(begin, op.workspace)
        self._hold(self.time, -op.workspace)
        for v in op.outs:
            if v not in self.there:
                self._hold(begin, self.program.values[v].bytes)
                self.there[v] = self.time

    def _leave(self, v, step):
        """After a step: keep, drop or copy out."""
        size = self.program.values[v].bytes
        if self.program.next_required(v, step) is None:
            if self.rng.random() < 0.02:
                return  # for reruns that may read it
            end = self.time
        elif self.program.next_required(v, step) < step + self.far:
            return
        elif self.fate[v] < self.drop:
            end = self.time
        elif self.fate[v] < self.drop + self.swap and size:
            if v not in self.host:
                begin = max(self.out_free, self.time)
                self.out_free = self.host[v] = begin + size / self.rate
            end = max(self.time, self.host[v])
        else:
            return
        end = max(end, self.there[v])
        del self.there[v]
        self.gone[v] = end
        self._hold(end, -size)
