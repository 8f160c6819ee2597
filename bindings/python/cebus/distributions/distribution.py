"""The base of random variables."""
import math

from .. import _core
from .._core import Tensor
from ..grad_mode import no_grad


def tensors(*values):
    """Numbers and tensors as tensors of one shape."""
    like = next((x for x in values if isinstance(x, Tensor)), None)
    made = [x if isinstance(x, Tensor) else
            _core.tensor(float(x), dtype=None if like is None else like.dtype) for x in values]
    shape = _core.Size(()) if not made else sum(x.detach() * 0 for x in made).shape
    return [x.expand(shape) for x in made]


class Distribution:
    """Base: `sample(shape)` without gradients, `rsample(shape)` with them where there are some,
    `log_prob(value)`, `entropy()`. Values have the shape sample_shape + batch_shape +
    event_shape."""

    has_rsample = False
    batch_shape = event_shape = _core.Size(())

    def sample(self, sample_shape=()):
        with no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n):
        return self.sample((n,))

    def rsample(self, sample_shape=()):
        raise NotImplementedError(f"{type(self).__name__} has no gradient through its samples")

    def log_prob(self, value):
        raise NotImplementedError(f"{type(self).__name__} has no log_prob()")

    def cdf(self, value):
        raise NotImplementedError(f"{type(self).__name__} has no cdf()")

    def icdf(self, value):
        raise NotImplementedError(f"{type(self).__name__} has no icdf()")

    def entropy(self):
        raise NotImplementedError(f"{type(self).__name__} has no entropy()")

    def perplexity(self):
        return self.entropy().exp()

    @property
    def variance(self):
        return self.stddev.square()

    @property
    def stddev(self):
        return self.variance.sqrt()

    def shape(self, sample_shape):
        """Of samples."""
        return (*sample_shape, *self.batch_shape, *self.event_shape)

    def uniform(self, sample_shape, like, low=0.0):
        """Numbers in [low, 1) for samples without an event."""
        return _core.uniform((*sample_shape, *like.shape), low, 1.0, dtype=like.dtype,
                             device=like.device)

    def normal(self, sample_shape, like):
        return _core.randn((*sample_shape, *like.shape), dtype=like.dtype, device=like.device)

    def __repr__(self):
        own = ", ".join(f"{key}: {value if value.ndim == 0 else tuple(value.shape)}"
                        for key, value in self.__dict__.items() if isinstance(value, Tensor)
                        and not key.startswith("_"))
        return f"{type(self).__name__}({own})"


def number_of(shape):
    return math.prod(shape)
