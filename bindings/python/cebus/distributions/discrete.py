"""Random variables that take whole numbers."""
import math

from .. import _core
from .._core import where
from ..grad_mode import no_grad
from ..nn.functional import softplus
from .distribution import Distribution, number_of, tensors


class _ByProbability(Distribution):
    """From `probs` or `logits`."""

    def __init__(self, probs=None, logits=None, validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._given(probs, logits)


class Categorical(_ByProbability):
    """An index along the last dimension, by `probs` (any positive numbers) or `logits`."""

    def _given(self, probs, logits):
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
            self.logits = self.probs.clamp(1e-38, 1.0).log()
        else:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
            self.probs = self.logits.exp()
        self.batch_shape = self.probs.shape[:-1]

    mode = property(lambda self: self.probs.argmax(-1))

    def sample(self, sample_shape=()):
        n = number_of(sample_shape)
        shape = tuple(self.probs.shape)
        with no_grad():
            drawn = self.probs.detach().reshape(-1, shape[-1]).multinomial(n, replacement=True)
            return drawn.t().reshape(*sample_shape, *shape[:-1])

    def log_prob(self, value):
        value = value.long().unsqueeze(-1)
        value, logits = _together(value, self.logits)
        return logits.gather(-1, value[..., :1].contiguous()).squeeze(-1)

    def entropy(self):
        return -(self.probs * self.logits).sum(-1)

    def enumerate_support(self, expand=True):
        values = _core.arange(self.probs.size(-1), device=self.probs.device)
        values = values.reshape((-1,) + (1,) * len(self.batch_shape))
        return values.expand((-1,) + tuple(self.batch_shape)) if expand else values


def _together(value, logits):
    from ..shaping import broadcast_shapes
    shape = broadcast_shapes(value.shape, logits.shape)
    return value.expand(shape[:-1] + value.shape[-1:]), logits.expand(shape)


class OneHotCategorical(Categorical):
    """Categorical, as vectors with a single 1."""

    def _given(self, probs, logits):
        super()._given(probs, logits)
        self.event_shape = self.probs.shape[-1:]

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape=()):
        index = super().sample(sample_shape)
        classes = _core.arange(self.probs.size(-1), device=self.probs.device)
        return (index.unsqueeze(-1) == classes).to(self.probs.dtype)

    def log_prob(self, value):
        return super().log_prob(value.argmax(-1))


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """Samples with the gradient of the probabilities (Bengio et al. 2013)."""

    has_rsample = True

    def rsample(self, sample_shape=()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class RelaxedOneHotCategorical(_ByProbability):
    """Shares near one-hot vectors, with gradients (Jang et al. 2017, Maddison et al. 2017)."""

    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        super().__init__(probs, logits)

    def _given(self, probs, logits):
        base = Categorical(probs, logits)
        self.probs, self.logits = base.probs, base.logits
        self.batch_shape, self.event_shape = self.probs.shape[:-1], self.probs.shape[-1:]

    def rsample(self, sample_shape=()):
        noise = -(-self.uniform(sample_shape, self.logits, 1e-7).log()).log()
        return ((self.logits + noise) / self.temperature).softmax(-1)

    def log_prob(self, value):
        n, t = self.probs.size(-1), _core.as_tensor(self.temperature)
        score = self.logits - value.log() * t
        score = (score - score.logsumexp(-1, keepdim=True)).sum(-1)
        return score + math.lgamma(n) + (n - 1) * t.to(value.dtype).log() - value.log().sum(-1)


class Bernoulli(_ByProbability):
    """1 with probability `probs`, else 0."""

    def _given(self, probs, logits):
        if logits is not None:
            logits, = tensors(logits)
        self.probs = logits.sigmoid() if probs is None else tensors(probs)[0]
        edge = 1e-7
        cut = self.probs.clamp(edge, 1 - edge)
        self.logits = cut.log() - (1 - cut).log() if logits is None else logits
        self.batch_shape = self.probs.shape

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape=()):
        with no_grad():
            return self.probs.detach().expand(*sample_shape, *self.probs.shape).bernoulli()

    def log_prob(self, value):
        return value * self.logits - softplus(self.logits)

    def entropy(self):
        return softplus(self.logits) - self.probs * self.logits


class Geometric(Bernoulli):
    """How many trials fail before the first that does not."""

    mean = property(lambda self: 1 / self.probs - 1)
    variance = property(lambda self: (1 / self.probs - 1) / self.probs)

    def sample(self, sample_shape=()):
        with no_grad():
            u = self.uniform(sample_shape, self.probs, 1e-7)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        return value * (-self.probs).log1p() + self.probs.log()

    def entropy(self):
        return (softplus(self.logits) - self.probs * self.logits) / self.probs


class Poisson(Distribution):
    """How many events of a `rate` there are."""

    def __init__(self, rate, validate_args=None):
        self.rate, = tensors(rate)
        self.batch_shape = self.rate.shape

    mean = variance = property(lambda self: self.rate)

    def sample(self, sample_shape=()):
        from ..creation import poisson
        with no_grad():
            return poisson(self.rate.detach().expand(*sample_shape, *self.rate.shape))

    def log_prob(self, value):
        return value * self.rate.log() - self.rate - (value + 1).lgamma()


class Binomial(_ByProbability):
    """How many of `total_count` trials succeed."""

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        self._count = total_count
        super().__init__(probs, logits)

    def _given(self, probs, logits):
        base = Bernoulli(probs, logits)
        self.total_count, self.probs, self.logits = tensors(
            self._count.to(base.probs.dtype) if hasattr(self._count, "to") else self._count,
            base.probs, base.logits)
        self.batch_shape = self.probs.shape

    mean = property(lambda self: self.total_count * self.probs)
    variance = property(lambda self: self.mean * (1 - self.probs))

    def sample(self, sample_shape=()):
        most = int(self.total_count.max())
        with no_grad():
            shape = (most, *sample_shape, *self.probs.shape)
            trials = _core.uniform(shape, 0.0, 1.0, dtype=self.probs.dtype,
                                   device=self.probs.device) < self.probs
            place = _core.arange(most, device=self.probs.device).reshape(
                (-1,) + (1,) * (len(shape) - 1))
            return (trials & (place < self.total_count)).sum(0).to(self.probs.dtype)

    def log_prob(self, value):
        n = self.total_count
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * self.logits - n * softplus(self.logits)


class Multinomial(_ByProbability):
    """How often each of several outcomes comes in `total_count` trials."""

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        self.total_count = total_count
        super().__init__(probs, logits)

    def _given(self, probs, logits):
        self._each = Categorical(probs, logits)
        self.probs, self.logits = self._each.probs, self._each.logits
        self.batch_shape, self.event_shape = self.probs.shape[:-1], self.probs.shape[-1:]

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.mean * (1 - self.probs))

    def sample(self, sample_shape=()):
        drawn = self._each.sample((self.total_count, *sample_shape))
        classes = _core.arange(self.probs.size(-1), device=self.probs.device)
        return (drawn.unsqueeze(-1) == classes).sum(0).to(self.probs.dtype)

    def log_prob(self, value):
        total = value.sum(-1)
        none = (value == 0) & (self.probs == 0)
        scores = where(none, 0.0, value * self.logits).sum(-1)
        return (total + 1).lgamma() - (value + 1).lgamma().sum(-1) + scores
