"""Maps of random variables that can be undone."""
import math

from .. import _core
from ..nn.functional import softplus
from .distribution import Distribution


class Transform:
    """Base: t(x), t.inv(y), t.log_abs_det_jacobian(x, y). `event_dim`: how many last dimensions are
    mapped together."""

    event_dim = 0

    def __call__(self, x):
        return self._call(x)

    @property
    def inv(self):
        return _Inverse(self)


class _Inverse(Transform):
    def __init__(self, base):
        self.base, self.event_dim = base, base.event_dim

    def _call(self, x):
        return self.base._inverse(x)

    def _inverse(self, y):
        return self.base._call(y)

    def log_abs_det_jacobian(self, x, y):
        return -self.base.log_abs_det_jacobian(y, x)

    @property
    def inv(self):
        return self.base


class ExpTransform(Transform):
    """e^x"""

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class AffineTransform(Transform):
    """loc + scale x"""

    def __init__(self, loc, scale, event_dim=0):
        self.loc, self.scale, self.event_dim = loc, scale, event_dim

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        size = self.scale.abs().log() if isinstance(self.scale, _core.Tensor) \
            else math.log(abs(self.scale))
        found = x * 0 + size
        return found.sum(tuple(range(-self.event_dim, 0))) if self.event_dim else found


class SigmoidTransform(Transform):
    """1 / (1 + e^-x)"""

    def _call(self, x):
        return x.sigmoid()

    def _inverse(self, y):
        y = y.clamp(1e-38, 1 - 2.0 ** -24)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class TanhTransform(Transform):
    """tanh(x)"""

    def __init__(self, cache_size=0):
        """Nothing is kept."""

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        return 2 * (math.log(2) - x - softplus(-2 * x))


class SoftplusTransform(Transform):
    """log(1 + e^x)"""

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x)


class PowerTransform(Transform):
    """x^exponent of positive numbers"""

    def __init__(self, exponent):
        self.exponent = exponent

    def _call(self, x):
        return x ** self.exponent

    def _inverse(self, y):
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()


class ComposeTransform(Transform):
    """One after the other."""

    def __init__(self, parts):
        self.parts = list(parts)
        self.event_dim = max([part.event_dim for part in self.parts], default=0)

    def _call(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y):
        for part in reversed(self.parts):
            y = part._inverse(y)
        return y

    def log_abs_det_jacobian(self, x, y):
        total = 0.0
        for part in self.parts:
            z = part(x)
            total = total + _summed(part.log_abs_det_jacobian(x, z),
                                    self.event_dim - part.event_dim)
            x = z
        return total


def _summed(x, dims):
    return x.sum(tuple(range(-dims, 0))) if dims else x


class TransformedDistribution(Distribution):
    """A variable that is mapped."""

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.base_dist = base_distribution
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        extra = max(max([t.event_dim for t in self.transforms], default=0)
                    - len(base_distribution.event_shape), 0)
        whole = base_distribution.batch_shape + base_distribution.event_shape
        at = len(base_distribution.batch_shape) - extra
        self.batch_shape, self.event_shape = whole[:at], whole[at:]

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    def _mapped(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape=()):
        return self._mapped(self.base_dist.sample(sample_shape)).detach()

    def rsample(self, sample_shape=()):
        return self._mapped(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        total, dims, y = 0.0, len(self.event_shape), value
        for transform in reversed(self.transforms):
            x = transform._inverse(y)
            total = total - _summed(transform.log_abs_det_jacobian(x, y),
                                    dims - transform.event_dim)
            y = x
        return total + _summed(self.base_dist.log_prob(y),
                               dims - len(self.base_dist.event_shape))

    def cdf(self, value):
        for transform in reversed(self.transforms):
            value = transform._inverse(value)
        return self.base_dist.cdf(value)


class Independent(Distribution):
    """The last dimensions of a batch as one event."""

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        self.base_dist, self.dims = base_distribution, reinterpreted_batch_ndims
        batch = base_distribution.batch_shape
        if self.dims > len(batch):
            raise ValueError("Expected reinterpreted_batch_ndims <= len(base_distribution."
                             f"batch_shape), but {self.dims} > {len(batch)}")
        at = len(batch) - self.dims
        self.batch_shape = batch[:at]
        self.event_shape = batch[at:] + base_distribution.event_shape

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return _summed(self.base_dist.log_prob(value), self.dims)

    def entropy(self):
        return _summed(self.base_dist.entropy(), self.dims)


class MixtureSameFamily(Distribution):
    """One of several variables, chosen by a Categorical; they lie along its dimension."""

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        self.mixture, self.components = mixture_distribution, component_distribution
        self.batch_shape = component_distribution.batch_shape[:-1]
        self.event_shape = component_distribution.event_shape

    def _weights(self):
        probs = self.mixture.probs
        return probs.reshape(tuple(probs.shape) + (1,) * len(self.event_shape))

    @property
    def mean(self):
        return (self._weights() * self.components.mean).sum(-1 - len(self.event_shape))

    @property
    def variance(self):
        at = -1 - len(self.event_shape)
        off = self.components.mean - self.mean.unsqueeze(at)
        return (self._weights() * (self.components.variance + off.square())).sum(at)

    def sample(self, sample_shape=()):
        chosen = self.mixture.sample(sample_shape)
        drawn = self.components.sample(sample_shape)
        at = drawn.ndim - 1 - len(self.event_shape)
        index = chosen.reshape(tuple(chosen.shape) + (1,) * (1 + len(self.event_shape)))
        shape = list(drawn.shape)
        shape[at] = 1
        return drawn.gather(at, index.expand(shape).contiguous()).squeeze(at)

    def log_prob(self, value):
        value = value.unsqueeze(-1 - len(self.event_shape))
        return (self.components.log_prob(value) + self.mixture.logits).logsumexp(-1)
