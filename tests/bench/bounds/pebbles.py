"""The least memory a program can run in when values go and are made again, whatever runs when.

To run a call its inputs must be there, beside room for its outputs. The search goes backwards: from
what a call reads to what had to be there before one of these values was made, and so on, until
nothing has to be. Only sets of values that are needed together come up, and of these only such as
fit, which are few where a few values fill the memory. The order of the program adds nothing: at any
of its calls all that came before may run again.

What only helps whoever runs the program keeps this a bound: values below a size are always there,
and take room only beside a call that reads or makes them; each call is looked at alone, so what
another one leaves behind takes no room; all calls may run again, in place where they write.
"""
import heapq


def bits_of(state):
    found = []
    while state:
        found.append(state & -state)
        state &= state - 1
    return found


class Game:
    """Values of `least_bytes` and more, as bits; a set of values is a number."""

    def __init__(self, program, least_bytes):
        self.program = program
        values = program.values
        large = [v for v, value in enumerate(values)
                 if not value.is_constant and value.bytes >= max(1, least_bytes)]
        self.bit_of = {v: 1 << i for i, v in enumerate(large)}
        self.bytes_of = {self.bit_of[v]: values[v].bytes for v in large}
        self.call_of = {self.bit_of[v]: values[v].producer for v in large}
        self.pinned = sum(value.bytes for value in values if value.persistent)
        self.ins = [[] if op.is_view else self._bits(op.ins) for op in program.ops]
        self.outs = [self._bits(op.outs) for op in program.ops]
        self.ins_mask, self.outs_mask = list(map(sum, self.ins)), list(map(sum, self.outs))
        self.ins_bytes = list(map(self.sum_of, self.ins))
        self.beside = self._small_bytes()
        self.after = self._descendants()

    def _bits(self, values):
        return [self.bit_of[v] for v in dict.fromkeys(values) if v in self.bit_of]

    def sum_of(self, bits):
        return sum(self.bytes_of[bit] for bit in bits)

    def _small_bytes(self):
        """Of each call: what it takes beside values that are tracked, constants included."""
        found = [need - self.sum_of(ins) - self.sum_of(outs) + self.pinned
                 for need, ins, outs in zip(self.program.need, self.ins, self.outs)]
        for step, v in self.program.overwritten:
            found[step] -= self.program.values[v].bytes
        return found

    def _descendants(self):
        """Of each call: all values that what it makes is needed for."""
        after = [0] * len(self.ins)
        readers = {}
        for step, ins in enumerate(self.ins):
            for bit in ins:
                readers.setdefault(bit, []).append(step)
        for step in reversed(range(len(self.ins))):
            for bit in self.outs[step]:
                for reader in readers.get(bit, ()):
                    after[step] |= self.outs_mask[reader] | after[reader]
        return after

    def goals(self):
        """(step, values needed, bytes at that step) of each call and of the end."""
        program = self.program
        for step, op in enumerate(program.ops):
            if not op.is_view:
                more = program.constant_bytes[step] - self.pinned
                own = self.sum_of(self.ins[step]) + self.sum_of(self.outs[step])
                yield step, self.ins_mask[step], own + self.beside[step] + more
        yield (program.end, sum(self._bits(program.end_set)),
               program.need[-1] + program.constant_bytes[-1])

    def before(self, state, size, room):
        """[(bytes while the call runs, set before it, bytes of that)] for each call that may have
        run last; one alone where that one is as good as any.

        It is if it fits and either its inputs are in the set (less was needed before), or take no
        more than what it makes, of which nothing else in the set is made: whoever made these values
        earlier may keep the inputs instead from then on, and run the call at the end."""
        found, left, bytes_of = [], state, self.bytes_of
        while left:
            step = self.call_of[1 << (left.bit_length() - 1)]
            made = state & self.outs_mask[step]
            left &= ~made
            gone = beside = new = 0
            for bit in self.outs[step]:
                if state & bit:
                    gone += bytes_of[bit]
                else:
                    beside += bytes_of[bit]
            for bit in self.ins[step]:
                if not state & bit:
                    new += bytes_of[bit]
            peak = size + beside + new + self.beside[step]
            move = (peak, state & ~made | self.ins_mask[step], size - gone + new)
            if peak <= room and (new == 0 or (not self.after[step] & state
                                              and self.ins_bytes[step] <= gone)):
                return [move]
            found.append(move)
        return found


class Search:
    """The least memory for one goal after another; `proven` rises."""

    DROPS = 3  # values by which a smaller set may differ to be found

    def __init__(self, game, proven, most_states):
        self.game, self.most_states = game, most_states
        self.proven = max([proven] + [size for _, _, size in game.goals()])
        self.settled = {0}  # sets that can be reached in what is proven
        self.states = 0
        self.open = 0  # goals that were given up
        self.critical = None  # the step that the bound is from

    def run(self, only=None):
        """The bound after all goals, or after this one."""
        for step, goal, _ in self.game.goals():
            before = self.proven
            if only is None or step == only:
                self._reach(goal)
            if self.proven > before:
                self.critical = step
        return self.proven

    def _reach(self, goal):
        """Raises `proven` to what the goal takes, or as far as the states allowed tell. Sets in the
        order of the most that any call up to them takes, then those of the oldest values."""
        game, room, count = self.game, self.proven, 0
        seen = {goal: (room, None)}  # set -> what it is reached in, from which set
        heap = [(room, goal.bit_length(), 0, goal, game.sum_of(bits_of(goal)))]
        while heap:
            key, _, _, state, size = heapq.heappop(heap)
            if key > seen[state][0]:
                continue
            room = max(room, key)
            if state in self.settled:
                self._settle(seen, state)
                break
            if count == self.most_states:
                self.open += 1
                break
            count += 1
            if self._is_dominated(seen, state, room):
                continue
            for peak, other, size_then in game.before(state, size, room):
                peak = max(peak, room)
                if other not in seen or peak < seen[other][0]:
                    seen[other] = peak, state
                    heapq.heappush(heap, (peak, other.bit_length(), -len(seen), other, size_then))
        self.states += count
        self.proven = room

    def _settle(self, seen, state):
        while state is not None:
            self.settled.add(state)
            state = seen[state][1]

    def _is_dominated(self, seen, state, room):
        """Whether some of the values alone were needed before, too."""
        parts = [state]
        for _ in range(self.DROPS):
            # Every part once: bits go from the highest to the lowest.
            parts = [part ^ bit for part in parts for bit in bits_of(part & (state ^ part) - 1)]
            for part in parts:
                if part in seen and seen[part][0] <= room:
                    return True
        return False
