"""float16 and bfloat16 from Python, and losses that are scaled."""
import numpy
import pytest

import cebus
from cebus import nn


def problem(dtype, steps=40, scaler=None):
    """Trains a small regression with products in `dtype`; the losses."""
    cebus.manual_seed(0)
    rng = numpy.random.RandomState(1)
    x = cebus.tensor(rng.standard_normal((64, 8)).astype("float32"))
    y = x[:, :1] * 0.5 - x[:, 1:2]
    w = cebus.tensor(rng.standard_normal((16, 8)).astype("float32") * 0.3, requires_grad=True)
    v = cebus.tensor(rng.standard_normal((16, 1)).astype("float32") * 0.3, requires_grad=True)
    optimizer = cebus.optim.Adam([w, v], lr=0.02)
    losses = []
    for _ in range(steps):
        hidden = (x.to(dtype) @ w.to(dtype).T).tanh()
        loss = nn.functional.mse_loss((hidden @ v.to(dtype)).float(), y)
        optimizer.zero_grad()
        (scaler.scale(loss) if scaler else loss).backward()
        assert w.grad.dtype == cebus.float32
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("dtype", [cebus.float16, cebus.bfloat16])
def test_training_goes_as_in_float32(dtype):
    wide = problem(cebus.float32)
    narrow = problem(dtype, scaler=cebus.amp.GradScaler(init_scale=1024.0))
    assert wide[-1] < 0.2 * wide[0]
    assert narrow[-1] == pytest.approx(wide[-1], rel=0.1, abs=0.02)


def test_a_power_of_two_changes_no_bit():
    assert problem(cebus.float32) == problem(cebus.float32,
                                             scaler=cebus.amp.GradScaler(init_scale=256.0))


def test_steps_that_overflow_are_left_out():
    scaler = cebus.amp.GradScaler(init_scale=2.0 ** 40, growth_interval=1000)
    losses = problem(cebus.float16, steps=60, scaler=scaler)
    assert losses[0] == losses[1]  # nothing was learned from the first
    assert losses[-1] < 0.5 * losses[0]
    assert 1.0 < scaler.get_scale() < 2.0 ** 30


def test_the_scale_grows():
    scaler = cebus.amp.GradScaler(init_scale=2.0, growth_factor=4.0, growth_interval=3)
    problem(cebus.float32, steps=7, scaler=scaler)
    assert scaler.get_scale() == 32.0
    other = cebus.amp.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()


def test_gradients_unscaled_before_they_are_clipped():
    w = cebus.tensor([3.0, 4.0], requires_grad=True)
    optimizer = cebus.optim.SGD([w], lr=1.0)
    scaler = cebus.amp.GradScaler(init_scale=8.0)
    scaler.scale((w * w).sum() * 0.5).backward()
    assert w.grad.tolist() == [24.0, 32.0]
    scaler.unscale_(optimizer)
    assert w.grad.tolist() == [3.0, 4.0]
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert w.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="since the last update"):
        scaler.step(optimizer)
    scaler.update()


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="growth"):
        cebus.amp.GradScaler(growth_factor=1.0)
    with pytest.raises(ValueError, match="backoff"):
        cebus.amp.GradScaler(backoff_factor=1.0)
    with pytest.raises(RuntimeError, match="call step"):
        cebus.amp.GradScaler().update()
    w = cebus.tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="no gradients"):
        cebus.amp.GradScaler().step(cebus.optim.SGD([w], lr=1.0))


def test_a_scaler_that_is_off():
    w = cebus.tensor([1.0], requires_grad=True)
    optimizer = cebus.optim.SGD([w], lr=0.5)
    scaler = cebus.amp.GradScaler(enabled=False)
    scaler.scale(w.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [0.5] and scaler.state_dict() == {} and scaler.get_scale() == 1.0
