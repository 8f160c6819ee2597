"""Parametrized tensors (nn.utils.parametrize): values, writes, copies, removal, what is refused."""
import copy
import pickle

import pytest

import cebus
from cebus import nn
from cebus.nn.utils import parametrizations, parametrize


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).t()

    def right_inverse(self, value):
        return value.triu()


class Scaled(nn.Module):
    def __init__(self, factor=2.0):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return self.factor * x

    def right_inverse(self, value):
        return value / self.factor


class Square(nn.Module):
    def forward(self, x):
        return x * x


def symmetric():
    a = cebus.rand(3, 3)
    return a + a.t()


def test_a_value_is_made_of_its_original():
    layer = nn.Linear(3, 3)
    weight, before = layer.weight, layer.weight.tolist()
    assert parametrize.register_parametrization(layer, "weight", Scaled()) is layer
    assert layer.weight.tolist() == before and layer.parametrizations.weight.original is weight
    assert isinstance(layer, nn.Linear) and type(layer).__name__ == "ParametrizedLinear"
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    layer(cebus.ones(2, 3)).sum().backward()
    assert weight.grad.tolist() == [[4.0] * 3] * 3
    assert "(0): Scaled()" in repr(layer)


def test_modules_follow_each_other_and_writes_go_through_all():
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    parametrize.register_parametrization(layer, "weight", Scaled(4.0))
    wanted = symmetric()
    layer.weight = wanted
    assert layer.weight.tolist() == wanted.tolist()
    assert cebus.equal(layer.parametrizations.weight.original, wanted.triu() / 4)


def test_buffers_can_be_parametrized():
    norm = nn.BatchNorm1d(2)
    parametrize.register_parametrization(norm, "running_var", Square())
    norm.parametrizations.running_var.original.fill_(3.0)
    assert norm.running_var.tolist() == [9.0, 9.0]
    parametrize.remove_parametrizations(norm, "running_var")
    assert dict(norm.named_buffers())["running_var"].tolist() == [9.0, 9.0]


def test_within_a_block_a_value_is_made_once():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Scaled())
    assert layer.weight is not layer.weight
    with parametrize.cached():
        with parametrize.cached():
            kept = layer.weight
        assert layer.weight is kept
        layer.weight = cebus.ones(2, 2)
        assert layer.weight.tolist() == [[1.0] * 2] * 2
    assert layer.weight is not layer.weight


def test_a_copy_is_parametrized_by_itself():
    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    other = copy.deepcopy(layer)
    with cebus.no_grad():
        other.parametrizations.weight.original.fill_(1.0)
    parametrize.remove_parametrizations(other, "weight")
    assert type(other) is nn.Linear and other.weight.tolist() == [[1.0] * 3] * 3
    assert parametrize.is_parametrized(layer, "weight")
    assert layer.weight.tolist() == layer.weight.t().tolist() != other.weight.tolist()
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    assert parametrize.type_before_parametrizations(other) is nn.Linear
    with pytest.raises(RuntimeError, match="state_dict"):
        pickle.dumps(layer)
    fresh = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    fresh.load_state_dict(layer.state_dict())
    assert cebus.equal(fresh.weight, layer.weight)


@pytest.mark.parametrize("leave", [True, False])
def test_what_is_left_when_it_is_removed(leave):
    layer = nn.Linear(3, 3)
    weight = layer.weight
    parametrize.register_parametrization(layer, "weight", Square())
    parametrize.register_parametrization(layer, "bias", Scaled())
    expected = (layer.weight if leave else weight).tolist()
    parametrize.remove_parametrizations(layer, "weight", leave)
    assert layer.weight is weight and layer.weight.tolist() == expected
    assert parametrize.is_parametrized(layer) and not parametrize.is_parametrized(layer, "weight")
    parametrize.remove_parametrizations(layer, "bias")
    assert type(layer) is nn.Linear and set(layer.state_dict()) == {"weight", "bias"}


def test_norms_and_directions():
    layer = nn.Conv2d(3, 4, 3)
    before = layer.weight.clone()
    parametrizations.weight_norm(layer)
    parts = layer.parametrizations.weight
    assert tuple(parts.original0.shape) == (4, 1, 1, 1) and cebus.allclose(layer.weight, before)
    with cebus.no_grad():
        parts.original0.mul_(2)
    assert cebus.allclose(layer.weight, 2 * before)
    with pytest.raises(ValueError, match="sequence"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    parametrize.remove_parametrizations(layer, "weight")
    assert cebus.allclose(layer.weight, 2 * before)


def test_largest_singular_values():
    layer = parametrizations.spectral_norm(nn.Linear(6, 4), n_power_iterations=20)
    layer(cebus.ones(1, 6))
    assert abs(float(cebus.linalg.matrix_norm(layer.weight.detach(), 2)) - 1) < 1e-3
    kept = layer.eval().parametrizations.weight[0]._u.tolist()
    layer(cebus.ones(1, 6))
    assert layer.parametrizations.weight[0]._u.tolist() == kept
    bias = parametrizations.spectral_norm(nn.Linear(6, 4), "bias").bias
    assert abs(float(bias.norm()) - 1) < 1e-5


class Longer(nn.Module):
    def forward(self, x):
        return cebus.cat((x, x))


class Pair(nn.Module):
    def forward(self, x, y):
        return x + y

    def right_inverse(self, value):
        return value, cebus.zeros(3)


@pytest.mark.parametrize("call", [
    lambda layer: parametrize.register_parametrization(layer, "other", Scaled()),
    lambda layer: parametrize.register_parametrization(layer, "weight", Longer()),
    lambda layer: parametrize.register_parametrization(
        parametrize.register_parametrization(layer, "weight", Scaled()), "weight", Longer()),
    lambda layer: parametrize.remove_parametrizations(layer, "weight"),
    lambda layer: parametrizations.spectral_norm(layer, n_power_iterations=0),
    lambda layer: parametrize.ParametrizationList([], layer.weight),
])
def test_what_makes_no_sense_is_refused(call):
    layer = nn.Linear(3, 3)
    with pytest.raises(ValueError):
        call(layer)
    assert layer(cebus.ones(1, 3)).shape == (1, 3)
    parametrize.register_parametrization(layer, "bias", Longer(), unsafe=True)
    assert layer.bias.shape == (6,)


def test_writes_that_cannot_be():
    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Square())
    with pytest.raises(RuntimeError, match="right_inverse"):
        layer.weight = cebus.ones(3, 3)
    with pytest.raises(KeyError, match="exists"):
        layer.weight = nn.Parameter(cebus.ones(3, 3))
    parametrize.register_parametrization(layer, "bias", Pair())
    layer.bias = cebus.ones(3)
    assert layer.bias.tolist() == [1.0] * 3 and layer.parametrizations.bias.ntensors == 2


def test_under_a_budget_the_bits_are_the_same():
    finals, held = [], cebus.memory_allocated()
    for size in (cebus.get_budget(), held + 640 * 1024):
        with cebus.budget(size):
            cebus.manual_seed(3)
            net = nn.Sequential(*[parametrize.register_parametrization(
                nn.Linear(64, 64), "weight", Symmetric()) for _ in range(8)])
            optimizer = cebus.optim.SGD(net.parameters(), lr=0.1)
            before = cebus.memory_stats()["recomputes"]
            for _ in range(2):
                optimizer.zero_grad()
                net(cebus.randn(128, 64)).square().mean().backward()
                optimizer.step()
            finals.append([p.tolist() for p in net.parameters()])
            recomputed = cebus.memory_stats()["recomputes"] - before
            del net, optimizer
    assert finals[0] == finals[1] and recomputed > 0
