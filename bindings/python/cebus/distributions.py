"""Random variables with densities, for sampling and policy gradients."""
import math

from . import _core
from ._core import Tensor
from .grad_mode import no_grad
from .nn.functional import softplus


def _tensors(*values):
    """Numbers and tensors as tensors of one shape."""
    like = next((x for x in values if isinstance(x, Tensor)), None)
    made = [x if isinstance(x, Tensor) else
            _core.tensor(float(x), dtype=None if like is None else like.dtype) for x in values]
    total = sum(x.detach() * 0 for x in made)
    return [x.expand(total.shape) for x in made]


class Distribution:
    """Base: `sample(shape)` without gradients, `log_prob(value)`, `entropy()`."""

    def sample(self, sample_shape=()):
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        raise NotImplementedError(f"{type(self).__name__} has no gradient through its samples")

    def log_prob(self, value):
        raise NotImplementedError

    @property
    def variance(self):
        return self.stddev.square()


class Normal(Distribution):
    """Of mean `loc` and standard deviation `scale`, element by element."""

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = _tensors(loc, scale)
        self.mean, self.stddev = self.loc, self.scale

    def rsample(self, sample_shape=()):
        noise = _core.randn(*sample_shape, *self.loc.shape, dtype=self.loc.dtype,
                            device=self.loc.device)
        return self.loc + self.scale * noise

    def log_prob(self, value):
        return -((value - self.loc) / self.scale).square() / 2 - self.scale.log() \
            - math.log(math.sqrt(2 * math.pi))

    def entropy(self):
        return self.scale.log() + 0.5 * math.log(2 * math.pi * math.e)


class Uniform(Distribution):
    """Between `low` and `high`, element by element."""

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = _tensors(low, high)
        self.mean, self.stddev = (self.low + self.high) / 2, (self.high - self.low) / math.sqrt(12)

    def rsample(self, sample_shape=()):
        shape = (*sample_shape, *self.low.shape)
        return self.low + (self.high - self.low) * _core.uniform(shape, dtype=self.low.dtype)

    def log_prob(self, value):
        inside = (value >= self.low) & (value < self.high)
        return _core.where(inside, -(self.high - self.low).log(), -math.inf)

    def entropy(self):
        return (self.high - self.low).log()


class _Discrete(Distribution):
    def __init__(self, probs=None, logits=None, validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._given(probs, logits)


class Categorical(_Discrete):
    """An index along the last dimension, by `probs` (any positive numbers) or `logits`."""

    def _given(self, probs, logits):
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
            self.logits = self.probs.clamp(1e-38, 1.0).log()
        else:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
            self.probs = self.logits.exp()

    def sample(self, sample_shape=()):
        n = math.prod(sample_shape)
        shape = tuple(self.probs.shape)
        with no_grad():
            drawn = self.probs.detach().reshape(-1, shape[-1]).multinomial(n, replacement=True)
            return drawn.t().reshape(*sample_shape, *shape[:-1])

    def log_prob(self, value):
        logits = self.logits.expand(*value.shape, self.logits.shape[-1])
        return logits.gather(-1, value.long().unsqueeze(-1)).squeeze(-1)

    def entropy(self):
        return -(self.probs * self.logits).sum(-1)


class Bernoulli(_Discrete):
    """1 with probability `probs`, else 0."""

    def _given(self, probs, logits):
        self.probs = logits.sigmoid() if probs is None else _tensors(probs)[0]
        edge = 1e-7
        cut = self.probs.clamp(edge, 1 - edge)
        self.logits = cut.log() - (1 - cut).log() if logits is None else logits
        self.mean = self.probs

    @property
    def stddev(self):
        return (self.probs * (1 - self.probs)).sqrt()

    def sample(self, sample_shape=()):
        with no_grad():
            return self.probs.detach().expand(*sample_shape, *self.probs.shape).bernoulli()

    def log_prob(self, value):
        return value * self.logits - softplus(self.logits)

    def entropy(self):
        return softplus(self.logits) - self.probs * self.logits


def kl_divergence(p, q):
    """How far `p` is from `q`, of two distributions of one kind."""
    if isinstance(p, Normal) and isinstance(q, Normal):
        ratio = (p.scale / q.scale).square()
        return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log())
    if isinstance(p, Categorical) and isinstance(q, Categorical):
        return (p.probs * (p.logits - q.logits)).sum(-1)
    raise NotImplementedError(f"kl_divergence of {type(p).__name__} and {type(q).__name__}")
