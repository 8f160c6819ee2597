"""Random variables against PyTorch's densities, and against their own moments."""
import math

import numpy
import pytest

import cebus
from cebus import distributions

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")

GIVEN = numpy.asarray([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], dtype="float32")


def both(function):
    out = []
    for lib in (cebus, torch):
        x = lib.tensor(GIVEN.tolist(), requires_grad=True)
        y = function(lib, lib.distributions, x)
        y.sum().backward()
        out.append((y.detach().numpy(), x.grad.numpy()))
    for a, b in zip(*out):
        numpy.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("function", [
    lambda lib, d, x: d.Normal(x, x + 1).log_prob(lib.tensor(0.7)),
    lambda lib, d, x: d.Normal(0.5, x).entropy(),
    lambda lib, d, x: d.Uniform(-x, x + 1).log_prob(lib.tensor(0.1)),
    lambda lib, d, x: d.Categorical(x).log_prob(lib.tensor([2, 0])),
    lambda lib, d, x: d.Categorical(logits=x).log_prob(lib.tensor([1, 1])),
    lambda lib, d, x: d.Categorical(logits=x).entropy(),
    lambda lib, d, x: d.Bernoulli(x).log_prob(lib.tensor([0.0, 1.0, 1.0])),
    lambda lib, d, x: d.Bernoulli(logits=x).entropy(),
    lambda lib, d, x: d.kl_divergence(d.Normal(x, 1.0), d.Normal(0.0, x + 1)),
    lambda lib, d, x: d.kl_divergence(d.Categorical(logits=x), d.Categorical(logits=x * 2)),
])
def test_densities(function):
    both(function)


SHARES = [[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]
MATRIX = [[1.5, 0.3], [0.3, 0.8]]

# name: (made of a library and a tensor of positive numbers, values, what is compared)
KINDS = {
    "Normal": (lambda d, x: d.Normal(x - 0.4, x), 0.7, "cdf icdf"),
    "HalfNormal": (lambda d, x: d.HalfNormal(x), 0.7, "cdf icdf"),
    "LogNormal": (lambda d, x: d.LogNormal(x, x + 0.2), 0.7, "cdf"),
    "Exponential": (lambda d, x: d.Exponential(x), 0.7, "cdf"),
    "Laplace": (lambda d, x: d.Laplace(x, x + 0.2), 0.7, "cdf"),
    "Gumbel": (lambda d, x: d.Gumbel(x, x + 0.2), 0.7, "cdf"),
    "Cauchy": (lambda d, x: d.Cauchy(x, x + 0.2), 0.7, "cdf no_mean"),
    "Gamma": (lambda d, x: d.Gamma(x + 0.3, x + 1), 0.7, ""),
    "Chi2": (lambda d, x: d.Chi2(x + 2), 0.7, ""),
    "Beta": (lambda d, x: d.Beta(x + 0.3, x + 1), 0.7, ""),
    "StudentT": (lambda d, x: d.StudentT(x + 5, x, x + 1), 0.7, ""),
    "Uniform": (lambda d, x: d.Uniform(-x, x + 1), 0.1, "cdf icdf"),
    "Dirichlet": (lambda d, x: d.Dirichlet(x + 0.5), SHARES, ""),
    "Poisson": (lambda d, x: d.Poisson(x + 0.5), 2.0, "no_entropy"),
    "Geometric": (lambda d, x: d.Geometric(x), 2.0, ""),
    "Binomial": (lambda d, x: d.Binomial(4, x), 3.0, "no_entropy"),
    "Multinomial": (lambda d, x: d.Multinomial(4, x), [[1.0, 2.0, 1.0], [4.0, 0.0, 0.0]],
                    "no_entropy"),
    "OneHotCategorical": (lambda d, x: d.OneHotCategorical(x), [[0.0, 1, 0], [1, 0, 0]], ""),
    "RelaxedOneHotCategorical": (lambda d, x: d.RelaxedOneHotCategorical(_like(x, 0.7), x),
                                 SHARES, "no_entropy no_mean"),
    "MultivariateNormal": (lambda d, x: d.MultivariateNormal(x[:, :2], _like(x, MATRIX)),
                           [0.3, 0.9], "no_variance"),
    "MultivariateNormal of a precision": (
        lambda d, x: d.MultivariateNormal(x[:, :2], precision_matrix=_like(x, MATRIX)),
        [0.3, 0.9], "no_variance"),
    "Independent": (lambda d, x: d.Independent(d.Normal(x, x + 1), 1), 0.7, ""),
    "squashed": (lambda d, x: d.TransformedDistribution(
        d.Normal(x, x + 1), [d.transforms.AffineTransform(0.2, 1.5), d.transforms.TanhTransform()]),
        0.4, "no_entropy no_mean"),
    "sigmoid, power": (lambda d, x: d.TransformedDistribution(
        d.Normal(x, x + 1), [d.transforms.SigmoidTransform(),
                             d.transforms.PowerTransform(_like(x, 2.0))]),
        0.4, "no_entropy no_mean"),
    "softplus, inverse": (lambda d, x: d.TransformedDistribution(
        d.Normal(x, x + 1), d.transforms.ComposeTransform(
            [d.transforms.ExpTransform(), d.transforms.ExpTransform().inv])),
        0.4, "no_entropy no_mean"),
    "mixture": (lambda d, x: d.MixtureSameFamily(d.Categorical(x), d.Normal(x * 3, x + 1)), 0.7,
                "no_entropy"),
}


def _like(x, value):
    return (cebus if isinstance(x, cebus.Tensor) else torch).tensor(value)


@pytest.mark.parametrize("name", KINDS)
def test_figures_are_pytorchs(name):
    make, value, more = KINDS[name]
    both(lambda lib, d, x: make(d, x).log_prob(lib.tensor(value)))
    if "cdf" in more:
        both(lambda lib, d, x: make(d, x).cdf(lib.tensor(value)))
    if "icdf" in more:
        both(lambda lib, d, x: make(d, x).icdf(lib.tensor(0.3)))
    if "no_entropy" not in more and name != "mixture":
        both(lambda lib, d, x: make(d, x).entropy() + x.sum() * 0)
    if "no_mean" not in more:
        both(lambda lib, d, x: make(d, x).mean)
        if "no_variance" not in more:
            both(lambda lib, d, x: make(d, x).variance + x.sum() * 0)
    shapes = [(tuple(each.batch_shape), tuple(each.event_shape))
              for each in (make(lib.distributions, lib.tensor(GIVEN)) for lib in (cebus, torch))]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("name", KINDS)
def test_samples_have_the_moments_of_their_figures(name):
    cebus.manual_seed(8)
    made = KINDS[name][0](distributions, cebus.tensor(GIVEN, requires_grad=True))
    n = 8000
    x = made.sample((n,))
    assert x.shape == (n, *made.batch_shape, *made.event_shape) and not x.requires_grad
    assert bool(x.isfinite().all()) and made.sample().shape == x.shape[1:]
    if "no_mean" not in KINDS[name][2]:
        deviation = made.variance.detach().sqrt().numpy()
        numpy.testing.assert_allclose(x.double().mean(0).numpy(), made.mean.detach().numpy(),
                                      atol=float(6 * deviation.max() / math.sqrt(n)))
        numpy.testing.assert_allclose(x.double().std(0).numpy(), deviation, rtol=0.25)
    if made.has_rsample:
        y = made.rsample((3,))
        assert y.requires_grad and y.shape == (3, *x.shape[1:])
    elif name != "mixture":
        with pytest.raises(NotImplementedError):
            made.rsample()


@pytest.mark.parametrize("name,p,q", [
    ("Bernoulli", lambda d, x: d.Bernoulli(x), lambda d, x: d.Bernoulli(x * 0.5)),
    ("Poisson", lambda d, x: d.Poisson(x), lambda d, x: d.Poisson(x + 1)),
    ("Exponential", lambda d, x: d.Exponential(x), lambda d, x: d.Exponential(x + 1)),
    ("Laplace", lambda d, x: d.Laplace(x, x), lambda d, x: d.Laplace(x * 2, x + 1)),
    ("Uniform", lambda d, x: d.Uniform(x, x + 1), lambda d, x: d.Uniform(x - 1, x + 3)),
    ("Gamma", lambda d, x: d.Gamma(x, x), lambda d, x: d.Gamma(x + 1, x + 2)),
    ("Beta", lambda d, x: d.Beta(x, x + 1), lambda d, x: d.Beta(x + 1, x)),
    ("Dirichlet", lambda d, x: d.Dirichlet(x), lambda d, x: d.Dirichlet(x + 1)),
    ("MultivariateNormal", lambda d, x: d.MultivariateNormal(x[:, :2], _like(x, MATRIX)),
     lambda d, x: d.MultivariateNormal(x[:, 1:], _like(x, [[1.0, 0.1], [0.1, 2.0]]))),
    ("Independent", lambda d, x: d.Independent(d.Normal(x, x), 1),
     lambda d, x: d.Independent(d.Normal(x + 1, x + 1), 1)),
    ("OneHot", lambda d, x: d.OneHotCategorical(x), lambda d, x: d.OneHotCategorical(x + 1)),
])
def test_distances_are_pytorchs(name, p, q):
    both(lambda lib, d, x: d.kl_divergence(p(d, x), q(d, x)))


def test_samples_have_the_moments_they_should():
    cebus.manual_seed(3)
    for made, mean, deviation in (
            (distributions.Normal(2.0, 0.5), 2.0, 0.5),
            (distributions.Uniform(0.0, 4.0), 2.0, 4 / math.sqrt(12)),
            (distributions.Bernoulli(cebus.tensor(0.25)), 0.25, math.sqrt(0.1875))):
        x = made.sample((20000,))
        assert x.shape == (20000,)
        assert x.mean().item() == pytest.approx(mean, abs=5 * deviation / math.sqrt(20000))
        assert x.std().item() == pytest.approx(deviation, rel=0.05)
        assert float(made.stddev) == pytest.approx(deviation)
    x = distributions.Categorical(cebus.tensor(GIVEN.tolist())).sample((10000,))
    assert x.shape == (10000, 2)
    assert (x[:, 0] == 1).float().mean().item() == pytest.approx(0.5, abs=0.03)
    loc = cebus.ones(3, requires_grad=True)
    distributions.Normal(loc, 1.0).rsample().sum().backward()
    assert loc.grad.tolist() == [1, 1, 1]
    assert not distributions.Normal(loc, 1.0).sample().requires_grad
    with pytest.raises(ValueError):
        distributions.Categorical()


def test_samplers():
    from cebus.utils.data import (BatchSampler, DataLoader, SubsetRandomSampler, TensorDataset,
                                  WeightedRandomSampler)
    data = TensorDataset(cebus.arange(10))
    drawn = [x for batch, in DataLoader(data, batch_size=4, sampler=WeightedRandomSampler(
        [0.0] * 9 + [1.0], 6)) for x in batch.tolist()]
    assert drawn == [9] * 6
    assert sorted(SubsetRandomSampler([3, 5, 7])) == [3, 5, 7]
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert [len(batch) for batch in DataLoader(data, batch_sampler=BatchSampler(
        SubsetRandomSampler(range(10)), 4, False))]
