"""Random numbers: the state of the tensors' own source, and sources apart from it."""
import random

from . import _core
from ._core import manual_seed

__all__ = ["Generator", "default_generator", "get_rng_state", "initial_seed", "seed",
           "set_rng_state", "fork_rng"]

BITS = 52  # of a seed that a number in [0, 1) of float64 can give


class Generator:
    """A source apart from that of the tensors. What is drawn from it is drawn on the host."""

    def __init__(self, device="cpu"):
        self.device, self._seed = device, 0
        self._random = random.Random(0)

    def manual_seed(self, seed):
        self._seed = seed
        self._random.seed(seed)
        return self

    def seed(self):
        """Starts anew from a number that nobody knows, and answers it."""
        self.manual_seed(random.SystemRandom().getrandbits(BITS))
        return self._seed

    def initial_seed(self):
        return self._seed

    def get_state(self):
        return self._random.getstate()

    def set_state(self, state):
        self._random.setstate(state)

    def order(self, n):
        """0 ... n - 1 in a random order."""
        order = list(range(n))
        self._random.shuffle(order)
        return order

    def uniform(self, shape):
        """Numbers in [0, 1), of float64."""
        shape = tuple(shape)
        count = _core.Size(shape).numel()
        return _core.tensor([self._random.random() for _ in range(count)],
                            dtype=_core.float64).reshape(shape)

    def normal(self, shape):
        """Normally distributed numbers of float64."""
        shape = tuple(shape)
        count = _core.Size(shape).numel()
        return _core.tensor([self._random.gauss(0.0, 1.0) for _ in range(count)],
                            dtype=_core.float64).reshape(shape)


class _Default(Generator):
    """The tensors' own source."""

    def manual_seed(self, seed):
        self._seed = seed
        manual_seed(seed)
        return self

    def get_state(self):
        return get_rng_state()

    def set_state(self, state):
        set_rng_state(state)

    def order(self, n):
        return Generator().manual_seed(_drawn()).order(n)

    def uniform(self, shape):
        return _core.uniform(tuple(shape), dtype=_core.float64)

    def normal(self, shape):
        return _core.randn(tuple(shape), dtype=_core.float64)


def _drawn():
    """A seed from the tensors' own source."""
    return int(_core.uniform((), dtype=_core.float64).item() * (1 << BITS))


def get_rng_state():
    """What set_rng_state() goes back to. The source goes on from a number that it gave itself, so
    that the state is that number."""
    state = _drawn()
    manual_seed(state)
    return _core.tensor([state], dtype=_core.int64)


def set_rng_state(new_state):
    """Numbers are again as they were after get_rng_state()."""
    manual_seed(int(new_state.reshape(-1)[0]))


def seed():
    """Starts anew from a number that nobody knows, and answers it."""
    return default_generator.seed()


def initial_seed():
    """The last seed."""
    return default_generator.initial_seed()


class fork_rng:
    """In this block numbers are drawn that do not count outside of it."""

    def __init__(self, devices=None, enabled=True):
        self.enabled = enabled

    def __enter__(self):
        self._before = get_rng_state() if self.enabled else None

    def __exit__(self, *exception):
        if self.enabled:
            set_rng_state(self._before)


default_generator = _Default()
