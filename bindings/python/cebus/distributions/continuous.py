"""Random variables with densities."""
import math

from .. import _core
from .._core import where
from ..grad_mode import no_grad
from .distribution import Distribution, tensors

EULER = 0.57721566490153286061
TINY = 1e-7  # uniform numbers below it would have logarithms that are not finite


class _OfNumbers(Distribution):
    """Element by element, from parameters that are broadcast."""

    names = ()

    def __init__(self, *values, validate_args=None):
        made = tensors(*values)
        for name, value in zip(self.names, made):
            setattr(self, name, value)
        self.batch_shape = made[0].shape

    def expand(self, batch_shape):
        """The same for a larger batch."""
        return type(self)(*(getattr(self, name).expand(tuple(batch_shape))
                            for name in self.names))


class Normal(_OfNumbers):
    """Of mean `loc` and standard deviation `scale`."""

    names, has_rsample = ("loc", "scale"), True

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(loc, scale)

    mean = mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)

    def rsample(self, sample_shape=()):
        return self.loc + self.scale * self.normal(sample_shape, self.loc)

    def log_prob(self, value):
        return -((value - self.loc) / self.scale).square() / 2 - self.scale.log() \
            - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value):
        return 0.5 * (1 + ((value - self.loc) / (self.scale * math.sqrt(2))).erf())

    def icdf(self, value):
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self):
        return self.scale.log() + 0.5 * math.log(2 * math.pi * math.e)


class HalfNormal(_OfNumbers):
    """The size of a normal variable of mean 0."""

    names, has_rsample = ("scale",), True

    def __init__(self, scale, validate_args=None):
        super().__init__(scale)
        self._base = Normal(0.0, self.scale)

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.square() * (1 - 2 / math.pi))

    def rsample(self, sample_shape=()):
        return self._base.rsample(sample_shape).abs()

    def log_prob(self, value):
        value = _core.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        return where(value >= 0, self._base.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        return 2 * self._base.cdf(value) - 1

    def icdf(self, value):
        return self._base.icdf((value + 1) / 2)

    def entropy(self):
        return self._base.entropy() - math.log(2)


class LogNormal(_OfNumbers):
    """e to a normal variable."""

    names, has_rsample = ("loc", "scale"), True

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(loc, scale)
        self._base = Normal(self.loc, self.scale)

    mean = property(lambda self: (self.loc + self.scale.square() / 2).exp())
    variance = property(lambda self: self.scale.square().expm1()
                        * (2 * self.loc + self.scale.square()).exp())

    def rsample(self, sample_shape=()):
        return self._base.rsample(sample_shape).exp()

    def log_prob(self, value):
        return self._base.log_prob(value.log()) - value.log()

    def cdf(self, value):
        return self._base.cdf(value.log())

    def entropy(self):
        return self._base.entropy() + self.loc


class Uniform(_OfNumbers):
    """Between `low` and `high`."""

    names, has_rsample = ("low", "high"), True

    def __init__(self, low, high, validate_args=None):
        super().__init__(low, high)

    mean = property(lambda self: (self.low + self.high) / 2)
    stddev = property(lambda self: (self.high - self.low) / math.sqrt(12))

    def rsample(self, sample_shape=()):
        return self.low + (self.high - self.low) * self.uniform(sample_shape, self.low)

    def log_prob(self, value):
        inside = (value >= self.low) & (value < self.high)
        return where(inside, -(self.high - self.low).log(), -math.inf)

    def cdf(self, value):
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value):
        return self.low + value * (self.high - self.low)

    def entropy(self):
        return (self.high - self.low).log()


class Exponential(_OfNumbers):
    """Gaps of events that come at a `rate`."""

    names, has_rsample = ("rate",), True

    def __init__(self, rate, validate_args=None):
        super().__init__(rate)

    mean = stddev = property(lambda self: self.rate.reciprocal())

    def rsample(self, sample_shape=()):
        return -(1 - self.uniform(sample_shape, self.rate)).log() / self.rate

    def log_prob(self, value):
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        return -(-self.rate * value).expm1()

    def entropy(self):
        return 1 - self.rate.log()


class Laplace(_OfNumbers):
    """Exponential on both sides of `loc`."""

    names, has_rsample = ("loc", "scale"), True

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(loc, scale)

    mean = mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale * math.sqrt(2))

    def rsample(self, sample_shape=()):
        u = self.uniform(sample_shape, self.loc, TINY) - 0.5
        return self.loc - self.scale * u.sign() * (-2 * u.abs()).log1p()

    def log_prob(self, value):
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value):
        off = (value - self.loc) / self.scale
        return 0.5 - 0.5 * off.sign() * (-off.abs()).expm1()

    def entropy(self):
        return 1 + (2 * self.scale).log()


class Gumbel(_OfNumbers):
    """The largest of many."""

    names, has_rsample = ("loc", "scale"), True

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(loc, scale)

    mean = property(lambda self: self.loc + self.scale * EULER)
    stddev = property(lambda self: self.scale * (math.pi / math.sqrt(6)))

    def rsample(self, sample_shape=()):
        u = self.uniform(sample_shape, self.loc, TINY)
        return self.loc - self.scale * (-u.log()).log()

    def log_prob(self, value):
        off = (value - self.loc) / self.scale
        return -(off + (-off).exp()) - self.scale.log()

    def cdf(self, value):
        return (-(-(value - self.loc) / self.scale).exp()).exp()

    def entropy(self):
        return self.scale.log() + (1 + EULER)


class Cauchy(_OfNumbers):
    """Of median `loc`; it has no mean."""

    names, has_rsample = ("loc", "scale"), True

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(loc, scale)

    def rsample(self, sample_shape=()):
        turn = (self.uniform(sample_shape, self.loc) - 0.5) * math.pi
        return self.loc + self.scale * turn.tan()

    def log_prob(self, value):
        return -math.log(math.pi) - self.scale.log() \
            - ((value - self.loc) / self.scale).square().log1p()

    def cdf(self, value):
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


# --- gamma and its kin ------------------------------------------------------------------------

def standard_gamma(concentration, sample_shape=()):
    """Samples of rate 1 (Marsaglia and Tsang 2000), without gradients: below 1 as those above,
    times a power of a uniform number."""
    with no_grad():
        a = concentration.detach().double().expand(*sample_shape, *concentration.shape)
        small = a < 1
        d = where(small, a + 1, a) - 1.0 / 3
        c = 1 / (9 * d).sqrt()
        out = _core.zeros(a.shape, dtype=_core.float64, device=a.device)
        wanted = _core.ones(a.shape, dtype=_core.bool_, device=a.device)
        while bool(wanted.any()):  # each round takes more than 19 of 20
            x = _core.randn(a.shape, dtype=_core.float64, device=a.device)
            u = _core.uniform(a.shape, 1e-300, 1.0, dtype=_core.float64, device=a.device)
            v = (1 + c * x) ** 3
            safe = v.clamp(min=1e-300)
            taken = (v > 0) & (u.log() < 0.5 * x * x + d - d * v + d * safe.log())
            out = where(wanted & taken, d * v, out)
            wanted = wanted & ~taken
        u = _core.uniform(a.shape, 1e-300, 1.0, dtype=_core.float64, device=a.device)
        out = where(small, out * u ** (1 / a), out)
        return out.clamp(min=1e-38).to(concentration.dtype)


class Gamma(_OfNumbers):
    """Of shape `concentration` and `rate`. Samples have no gradient."""

    names = ("concentration", "rate")

    def __init__(self, concentration, rate, validate_args=None):
        super().__init__(concentration, rate)

    mean = property(lambda self: self.concentration / self.rate)
    variance = property(lambda self: self.concentration / self.rate.square())

    def sample(self, sample_shape=()):
        with no_grad():
            return standard_gamma(self.concentration, sample_shape) / self.rate

    def log_prob(self, value):
        a, rate = self.concentration, self.rate
        return a * rate.log() + (a - 1) * value.log() - rate * value - a.lgamma()

    def entropy(self):
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()


class Chi2(Gamma):
    """The sum of `df` squares of standard normal variables."""

    def __init__(self, df, validate_args=None):
        self.df, = tensors(df)
        super().__init__(self.df * 0.5, 0.5)

    def expand(self, batch_shape):
        return Chi2(self.df.expand(tuple(batch_shape)))


class Beta(_OfNumbers):
    """Between 0 and 1. Samples have no gradient."""

    names = ("concentration1", "concentration0")

    def __init__(self, concentration1, concentration0, validate_args=None):
        super().__init__(concentration1, concentration0)

    total = property(lambda self: self.concentration1 + self.concentration0)
    mean = property(lambda self: self.concentration1 / self.total)
    variance = property(lambda self: self.concentration1 * self.concentration0
                        / (self.total.square() * (self.total + 1)))

    def sample(self, sample_shape=()):
        a, b = [standard_gamma(each, sample_shape)
                for each in (self.concentration1, self.concentration0)]
        return a / (a + b)

    def _log_scale(self):
        return self.concentration1.lgamma() + self.concentration0.lgamma() - self.total.lgamma()

    def log_prob(self, value):
        return (self.concentration1 - 1) * value.log() \
            + (self.concentration0 - 1) * (-value).log1p() - self._log_scale()

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        return self._log_scale() - (a - 1) * a.digamma() - (b - 1) * b.digamma() \
            + (self.total - 2) * self.total.digamma()


class StudentT(_OfNumbers):
    """Of `df` degrees of freedom. Samples have no gradient."""

    names = ("df", "loc", "scale")

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        super().__init__(df, loc, scale)

    mean = property(lambda self: where(self.df > 1, self.loc, math.nan))
    variance = property(lambda self: where(
        self.df > 2, self.scale.square() * self.df / (self.df - 2),
        where(self.df > 1, math.inf, math.nan)))

    def sample(self, sample_shape=()):
        with no_grad():
            spread = standard_gamma(self.df / 2, sample_shape) * 2 / self.df
            return self.loc + self.scale * self.normal(sample_shape, self.loc) * spread.rsqrt()

    def log_prob(self, value):
        off, half = (value - self.loc) / self.scale, self.df / 2
        return (half + 0.5).lgamma() - half.lgamma() - 0.5 * (self.df * math.pi).log() \
            - self.scale.log() - (half + 0.5) * (off.square() / self.df).log1p()

    def entropy(self):
        half = self.df / 2
        beta = half.lgamma() + math.lgamma(0.5) - (half + 0.5).lgamma()
        return self.scale.log() + (half + 0.5) * ((half + 0.5).digamma() - half.digamma()) \
            + 0.5 * self.df.log() + beta


# --- of vectors -------------------------------------------------------------------------------

class Dirichlet(Distribution):
    """Shares that add up to 1. Samples have no gradient."""

    def __init__(self, concentration, validate_args=None):
        self.concentration = concentration
        self.batch_shape = concentration.shape[:-1]
        self.event_shape = concentration.shape[-1:]

    total = property(lambda self: self.concentration.sum(-1, keepdim=True))
    mean = property(lambda self: self.concentration / self.total)
    variance = property(lambda self: self.mean * (1 - self.mean) / (self.total + 1))

    def sample(self, sample_shape=()):
        parts = standard_gamma(self.concentration, sample_shape)
        return parts / parts.sum(-1, keepdim=True)

    def _log_scale(self):
        return self.concentration.lgamma().sum(-1) - self.total.squeeze(-1).lgamma()

    def log_prob(self, value):
        return ((self.concentration - 1) * value.log()).sum(-1) - self._log_scale()

    def entropy(self):
        a, total = self.concentration, self.total.squeeze(-1)
        return self._log_scale() + (total - a.size(-1)) * total.digamma() \
            - ((a - 1) * a.digamma()).sum(-1)


class MultivariateNormal(Distribution):
    """Of mean `loc` and a covariance: given as such, as its inverse, or by its Cholesky factor."""

    has_rsample = True

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None,
                 validate_args=None):
        from ..linalg import cholesky, inv
        if (covariance_matrix is None) + (precision_matrix is None) + (scale_tril is None) != 2:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril "
                             "may be specified.")
        if scale_tril is None:
            scale_tril = cholesky(inv(precision_matrix) if covariance_matrix is None
                                  else covariance_matrix)
        batch = (scale_tril.detach()[..., 0] + loc.detach()).shape
        self.loc, self.scale_tril = loc.expand(batch), scale_tril.expand(*batch, batch[-1])
        self.batch_shape, self.event_shape = batch[:-1], batch[-1:]

    mean = mode = property(lambda self: self.loc)
    covariance_matrix = property(lambda self: self.scale_tril @ self.scale_tril.mT)
    variance = property(lambda self: self.scale_tril.square().sum(-1))

    def rsample(self, sample_shape=()):
        noise = self.normal(sample_shape, self.loc)
        return self.loc + (self.scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self):
        return self.scale_tril.diagonal(0, -2, -1).log().sum(-1)

    def log_prob(self, value):
        from ..linalg import solve_triangular
        off = solve_triangular(self.scale_tril, (value - self.loc).unsqueeze(-1), upper=False)
        length = off.squeeze(-1).square().sum(-1)
        return -0.5 * (self.event_shape[0] * math.log(2 * math.pi) + length) \
            - self._half_log_det()

    def entropy(self):
        return 0.5 * self.event_shape[0] * (1 + math.log(2 * math.pi)) + self._half_log_det()
