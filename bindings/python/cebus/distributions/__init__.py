"""Random variables with densities, for sampling and policy gradients, under the names of
torch.distributions."""
from .. import missing
from . import continuous, discrete, kl, transforms  # noqa: F401
from .continuous import (  # noqa: F401
    Beta, Cauchy, Chi2, Dirichlet, Exponential, Gamma, Gumbel, HalfNormal, Laplace, LogNormal,
    MultivariateNormal, Normal, StudentT, Uniform)
from .discrete import (  # noqa: F401
    Bernoulli, Binomial, Categorical, Geometric, Multinomial, OneHotCategorical,
    OneHotCategoricalStraightThrough, Poisson, RelaxedOneHotCategorical)
from .distribution import Distribution  # noqa: F401
from .kl import kl_divergence, register_kl  # noqa: F401
from .transforms import (  # noqa: F401
    AffineTransform, ComposeTransform, ExpTransform, Independent, MixtureSameFamily,
    PowerTransform, SigmoidTransform, SoftplusTransform, TanhTransform, Transform,
    TransformedDistribution)


def __dir__():
    return sorted(set(globals()))


__getattr__ = missing.of_module("cebus.distributions", __dir__)
