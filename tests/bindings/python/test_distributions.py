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
