"""How far distributions are from each other."""
import math

from .continuous import (
    Beta, Dirichlet, Exponential, Gamma, Laplace, MultivariateNormal, Normal, Uniform)
from .discrete import Bernoulli, Categorical, OneHotCategorical, Poisson
from .transforms import Independent, _summed

_KNOWN = {}


def register_kl(type_p, type_q):
    """Decorates a function kl(p, q) of two kinds of distributions."""
    def decorate(function):
        _KNOWN[type_p, type_q] = function
        return function
    return decorate


def kl_divergence(p, q):
    """The mean of log p - log q under p."""
    found = [(a, b) for a, b in _KNOWN if isinstance(p, a) and isinstance(q, b)]
    if not found:
        raise NotImplementedError(f"kl_divergence of {type(p).__name__} and {type(q).__name__}")
    nearest = min(found, key=lambda pair: (type(p).__mro__.index(pair[0]),
                                           type(q).__mro__.index(pair[1])))
    return _KNOWN[nearest](p, q)


@register_kl(Normal, Normal)
def _normals(p, q):
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log())


@register_kl(Categorical, Categorical)
@register_kl(OneHotCategorical, OneHotCategorical)
def _categoricals(p, q):
    return (p.probs * (p.logits - q.logits)).sum(-1)


@register_kl(Bernoulli, Bernoulli)
def _bernoullis(p, q):
    return p.probs * (p.logits - q.logits) + p.log_prob(p.probs * 0) - q.log_prob(q.probs * 0)


@register_kl(Poisson, Poisson)
def _poissons(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Exponential, Exponential)
def _exponentials(p, q):
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Laplace, Laplace)
def _laplaces(p, q):
    off, ratio = (p.loc - q.loc).abs(), p.scale / q.scale
    return -ratio.log() + off / q.scale + ratio * (-off / p.scale).exp() - 1


@register_kl(Uniform, Uniform)
def _uniforms(p, q):
    from .._core import where
    outside = (q.low > p.low) | (q.high < p.high)
    return where(outside, math.inf, ((q.high - q.low) / (p.high - p.low)).log())


@register_kl(Gamma, Gamma)
def _gammas(p, q):
    a, b = p.concentration, q.concentration
    return b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma() \
        + (q.rate - p.rate) * (a / p.rate)


@register_kl(Beta, Beta)
def _betas(p, q):
    total = p.total.digamma()
    return q._log_scale() - p._log_scale() \
        + (p.concentration1 - q.concentration1) * (p.concentration1.digamma() - total) \
        + (p.concentration0 - q.concentration0) * (p.concentration0.digamma() - total)


@register_kl(Dirichlet, Dirichlet)
def _dirichlets(p, q):
    a, b = p.concentration, q.concentration
    return q._log_scale() - p._log_scale() \
        + ((a - b) * (a.digamma() - p.total.digamma())).sum(-1)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normals(p, q):
    from ..linalg import solve_triangular
    off = solve_triangular(q.scale_tril, (q.loc - p.loc).unsqueeze(-1), upper=False)
    turned = solve_triangular(q.scale_tril, p.scale_tril, upper=False)
    return q._half_log_det() - p._half_log_det() + 0.5 * (
        turned.square().sum((-2, -1)) + off.squeeze(-1).square().sum(-1) - p.event_shape[0])


@register_kl(Independent, Independent)
def _independents(p, q):
    return _summed(kl_divergence(p.base_dist, q.base_dist), p.dims)
