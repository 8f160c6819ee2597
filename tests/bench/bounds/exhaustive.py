"""The true optimum of tiny programs, by search over all states; for the tests of the bounds."""
import heapq
from itertools import count


class Search:
    """What both searches know of a program: values as bits, ops that may run."""

    def __init__(self, program, budget, any_order=False):
        self.program, self.budget, self.any_order = program, budget, any_order
        self.values = program.values
        self.all_done = (1 << len(program.ops)) - 1
        self.final = sum(1 << v for v in program.end_set)
        self.ins = [self._bits(op.ins) for op in program.ops]
        self.outs = [self._bits(op.outs) for op in program.ops]
        self.after = self._order()

    def _bits(self, values):
        return sum(1 << v for v in values if not self.values[v].is_constant)

    def _order(self):
        """Ops that must have run before each op, when any order is allowed."""
        program, after = self.program, []
        for step, op in enumerate(program.ops):
            mask = 0
            for v in op.ins:
                if not self.values[v].is_constant:
                    mask |= 1 << self.values[v].producer
                    continue
                writes = program.writes.get(v, [])
                for s in range(step):
                    if v in program.ops[s].ins and (s in writes or step in writes):
                        mask |= 1 << s
            after.append(mask)
        return after

    def bytes_of(self, bits):
        return sum(value.bytes for v, value in enumerate(self.values) if bits >> v & 1)

    def constants(self, done, op=None):
        """Bytes of constants while the next op runs, or (op None) before it."""
        step = bin(done).count("1")
        first = step - 1 if op is None else step
        return sum(value.bytes for value in self.values if value.is_constant
                   and (value.persistent or (self._in_use(value, done, op) if self.any_order
                        else value.start <= first and value.last_held >= step)))

    def _in_use(self, value, done, op):
        """With a free order a constant comes with its first use and goes with its last."""
        begun = any(u == op or done >> u & 1 for u in value.required)
        ended = all(done >> u & 1 for u in value.required) and value.last_held < len(self.ins)
        return begun and not ended

    def fits(self, bits, workspace, done, op=None):
        return self.bytes_of(bits) + workspace + self.constants(done, op) <= self.budget

    def next_ops(self, done):
        """Ops whose first run may come next."""
        count_ops = len(self.program.ops)
        if not self.any_order:
            step = bin(done).count("1")
            return [step] if step < count_ops else []
        return [o for o in range(count_ops)
                if not done >> o & 1 and self.after[o] & done == self.after[o]]

    def may_rerun(self, o, done):
        op = self.program.ops[o]
        if op.is_view or not done >> o & 1 or not op.replayable:
            return False
        writes = (w for v in op.ins for w in self.program.writes.get(v, []))
        return not any(w >= o and done >> w & 1 for w in writes)

    def is_over(self, done, resident):
        if done != self.all_done or resident & self.final != self.final:
            return False
        return self.fits(self.final, 0, done, self.program.end)


def least_recompute(program, budget, any_order=False):
    """Least time of reruns, None when the budget cannot do. Dijkstra over (ops done, values
    resident)."""
    search = Search(program, budget, any_order)
    heap, best = [(0, 0, 0)], {(0, 0): 0}
    while heap:
        cost, done, resident = heapq.heappop(heap)
        if best[done, resident] < cost:
            continue
        if search.is_over(done, resident):
            return cost
        for more, state in _moves(search, done, resident):
            if cost + more < best.get(state, float("inf")):
                best[state] = cost + more
                heapq.heappush(heap, (cost + more,) + state)
    return None


def _moves(search, done, resident):
    ops = search.program.ops
    for v in range(len(search.values)):
        if resident >> v & 1:
            yield 0, (done, resident & ~(1 << v))
    for o in search.next_ops(done):
        if ops[o].is_view or search.ins[o] & ~resident == 0:
            after = resident | search.outs[o]
            if search.fits(after, ops[o].workspace, done, o):
                yield 0, (done | 1 << o, after)
    for o in range(len(ops)):
        if search.may_rerun(o, done) and search.ins[o] & ~resident == 0:
            after = resident | search.outs[o]
            if after != resident and search.fits(after, ops[o].workspace, done):
                yield ops[o].cost, (done, after)


def least_time(program, budget, rate, any_order=False, tick=1, limit=10**6):
    """Least ticks, of `tick` ns, to the end, with copies beside compute, each `rate` bytes a tick;
    None when the budget cannot do or more than `limit` states were seen. Costs and copy times are
    whole numbers, so events are, too: a search over what runs in each time unit. Constants are
    persistent."""
    search = Search(program, budget, any_order)
    search.rate, search.tick = rate, tick
    idle = (-1, 0)
    # done, held, ready, on the host, (op, time left), (value out, time left), (value in, time left)
    start = (0, 0, 0, 0, idle, idle, idle)
    order, heap, best = count(), [], {start: 0}
    heapq.heappush(heap, (0, next(order), start))
    while heap and len(best) < limit:
        time, _, state = heapq.heappop(heap)
        if best[state] < time:
            continue
        done, _, ready, _, job, _, _ = state
        if job == idle and search.is_over(done, ready):
            return time
        moves = _begin(search, state)
        if state[4:] != (idle, idle, idle):
            moves.append((1, _tick(search, state)))
        for more, after in moves:
            if time + more < best.get(after, float("inf")):
                best[after] = time + more
                heapq.heappush(heap, (time + more, next(order), after))
    return None


def _begin(search, state):
    """States after beginning one thing or dropping one value."""
    done, held, ready, host, job, out, into = state
    ops, values = search.program.ops, search.values
    running = search.ins[job[0]] | search.outs[job[0]] if job[0] >= 0 else 0
    workspace = ops[job[0]].workspace if job[0] >= 0 else 0
    found = []
    for v in range(len(values)):
        bit = 1 << v
        if ready & bit and not running & bit and out[0] != v:
            found.append((0, (done, held & ~bit, ready & ~bit, host, job, out, into)))
        if ready & bit and not host & bit and out[0] < 0 and values[v].bytes:
            copy = (v, values[v].bytes // search.rate)
            found.append((0, (done, held, ready, host, job, copy, into)))
        if host & bit and not held & bit and into[0] < 0:
            if search.fits(held | bit, workspace, done):
                copy = (v, values[v].bytes // search.rate)
                found.append((0, (done, held | bit, ready, host, job, out, copy)))
    if job[0] >= 0:
        return found
    again = [o for o in range(len(ops)) if search.may_rerun(o, done)]
    for o in search.next_ops(done) + again:
        bits = held | search.outs[o]
        coming = into[0] >= 0 and search.outs[o] >> into[0] & 1
        if ops[o].is_view or (search.ins[o] & ~ready == 0 and not coming
                              and search.fits(bits, ops[o].workspace, done)):
            work = (o, ops[o].cost // search.tick)
            found.append((0, (done, bits, ready & ~search.outs[o], host, work, out, into)))
    return found


def _tick(search, state):
    """One time unit later."""
    done, held, ready, host, job, out, into = state
    if job[0] >= 0:
        job = (job[0], job[1] - 1)
        if job[1] <= 0:
            done |= 1 << job[0]
            ready |= search.outs[job[0]]
            job = (-1, 0)
    if out[0] >= 0:
        out = (out[0], out[1] - 1)
        if out[1] <= 0:
            host |= 1 << out[0]
            out = (-1, 0)
    if into[0] >= 0:
        into = (into[0], into[1] - 1)
        if into[1] <= 0:
            ready |= 1 << into[0]
            into = (-1, 0)
    return done, held, ready, host, job, out, into
