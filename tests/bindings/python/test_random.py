"""Random numbers: their distributions, their sources, and that seeds bring them again."""
import math

import pytest

import cebus
from cebus.nn import functional as F

N = 20000


def moments(x):
    x = x.detach().double()
    return x.mean().item(), x.std().item()


@pytest.fixture(autouse=True)
def seeded():
    cebus.manual_seed(11)


@pytest.mark.parametrize("draw,mean,std", [
    (lambda **g: cebus.rand(N, **g), 0.5, 12 ** -0.5),
    (lambda **g: cebus.randn(N, **g), 0.0, 1.0),
    (lambda **g: cebus.normal(2.0, 3.0, (N,), **g), 2.0, 3.0),
    (lambda **g: cebus.randint(3, 9, (N,), **g), 5.5, math.sqrt(35 / 12)),
    (lambda **g: cebus.empty(N).uniform_(-1, 3, **g), 1.0, 4 / 12 ** 0.5),
    (lambda **g: cebus.empty(N).normal_(1, 2, **g), 1.0, 2.0),
    (lambda **g: cebus.empty(N).exponential_(2.0, **g), 0.5, 0.5),
    (lambda **g: cebus.empty(N).geometric_(0.25, **g), 4.0, math.sqrt(12)),
    (lambda **g: cebus.empty(N).bernoulli_(0.3, **g), 0.3, math.sqrt(0.21)),
    (lambda **g: cebus.empty(N).log_normal_(0.0, 0.25, **g), math.exp(1 / 32), 0.2623),
    (lambda **g: cebus.empty(N).random_(0, 10, **g), 4.5, math.sqrt(99 / 12)),
    (lambda **g: cebus.poisson(cebus.full((N,), 3.0), *g.values()), 3.0, math.sqrt(3)),
], ids="rand randn normal randint uniform_ normal_ exponential_ geometric_ bernoulli_ log_normal_ "
       "random_ poisson".split())
def test_distributions_from_both_kinds_of_source(draw, mean, std):
    for given in ({}, {"generator": cebus.Generator().manual_seed(5)}):
        found = moments(draw(**given))
        assert found[0] == pytest.approx(mean, abs=5 * std / math.sqrt(N) + 1e-3)
        assert found[1] == pytest.approx(std, rel=0.05)
    again = [draw(generator=cebus.Generator().manual_seed(5)) for _ in range(2)]
    assert again[0].equal(again[1])
    cebus.manual_seed(3)
    first = draw()
    cebus.manual_seed(3)
    assert first.equal(draw())


def test_the_quartiles_of_a_cauchy_distribution():
    x = cebus.empty(N).cauchy_(1.0, 2.0)
    quartiles = cebus.quantile(x, cebus.tensor([0.25, 0.5, 0.75]))
    assert quartiles.tolist() == pytest.approx([-1.0, 1.0, 3.0], abs=0.2)


def test_states_of_sources():
    generator = cebus.Generator().manual_seed(9)
    assert generator.initial_seed() == 9
    state = generator.get_state()
    first = cebus.rand(4, generator=generator)
    generator.set_state(state)
    assert first.equal(cebus.rand(4, generator=generator))
    state = cebus.get_rng_state()
    first = cebus.randn(4)
    cebus.set_rng_state(state)
    assert first.equal(cebus.randn(4))
    with cebus.random.fork_rng():
        inside = cebus.rand(4)
    assert inside.equal(cebus.rand(4))
    assert cebus.manual_seed(21) is cebus.default_generator and cebus.initial_seed() == 21
    assert cebus.seed() == cebus.initial_seed()


def test_orders_and_choices():
    assert sorted(cebus.randperm(50).tolist()) == list(range(50))
    assert cebus.rand_like(cebus.zeros(3, 2)).shape == (3, 2)
    assert cebus.randint_like(cebus.zeros(9), 4).max() < 4
    weights = cebus.tensor([[0.0, 1.0, 3.0], [2.0, 0.0, 0.0]])
    picked = cebus.multinomial(weights, 4000, replacement=True,
                               generator=cebus.Generator().manual_seed(1))
    assert (picked[1] == 0).all() and (picked[0] == 2).float().mean().item() == \
        pytest.approx(0.75, abs=0.05)


@pytest.mark.parametrize("name,shape", [("dropout", (200, 100)), ("dropout1d", (200, 100, 3)),
                                        ("dropout2d", (200, 100, 3, 3)),
                                        ("dropout3d", (200, 100, 2, 2, 2))])
def test_dropout_keeps_the_mean(name, shape):
    x = cebus.ones(shape, requires_grad=True)
    y = getattr(F, name)(x, 0.25, True)
    assert y.mean().item() == pytest.approx(1.0, abs=0.02)
    if len(shape) > 2:  # whole channels
        channels = y.reshape(200, 100, -1)
        assert channels.amax(-1).equal(channels.amin(-1))
    y.sum().backward()
    assert x.grad.equal(y.detach())
    assert getattr(F, name)(x, 0.25, False).equal(x)
    with pytest.raises(ValueError):
        getattr(F, name)(x, 1.5)


def test_alpha_dropout_keeps_mean_and_spread():
    x = F.selu(cebus.randn(400, 200))
    for function in (F.alpha_dropout, F.feature_alpha_dropout):
        found = moments(function(x if function is F.alpha_dropout else x.unsqueeze(-1), 0.2, True))
        assert found == pytest.approx(moments(x), abs=0.03)
    assert F.alpha_dropout(x, 0.2).equal(x)


def test_random_slopes_and_samples_of_classes():
    x = cebus.full((1000,), -1.0)
    y = F.rrelu(x, 0.1, 0.3, training=True)
    assert -0.3 <= y.min() and y.max() <= -0.1 and y.std() > 0.02
    assert F.rrelu(x, 0.1, 0.3).unique().tolist() == pytest.approx([-0.2])
    logits = cebus.randn(500, 4, requires_grad=True)
    hard = F.gumbel_softmax(logits, hard=True)
    assert hard.detach().sum(1).unique().tolist() == pytest.approx([1.0], abs=1e-5)
    hard[:, 0].sum().backward()
    assert logits.grad.abs().sum() > 0
