"""Gradients held against differences."""
from .. import _core
from .._core import Tensor
from ..grad_mode import no_grad


class GradcheckError(_core.Error):
    """A gradient is not what the differences say."""


def _outputs(function, inputs):
    found = function(*inputs)
    found = (found,) if isinstance(found, Tensor) else tuple(found)
    return [y for y in found if isinstance(y, Tensor) and y.is_floating_point()]


def _slopes(function, inputs, x, eps):
    """d(output)/d(x[k]) of every element k, by differences: a list a output."""
    flat = x.detach().reshape(-1)
    rows = []
    for k in range(flat.numel()):
        ends = []
        for step in (eps, -eps):
            moved = flat.clone()
            moved[k] += step
            moved = moved.reshape(x.shape)
            with no_grad():
                ends.append([y.clone() for y in
                             _outputs(function, [moved if each is x else each for each in inputs])])
        rows.append([((a - b) / (2 * eps)).reshape(-1).tolist() for a, b in zip(*ends)])
    return rows


def _gradients(outputs, j, inputs):
    """The Jacobian of output j: a row an element of it, for each input."""
    from . import grad
    rows = []
    y = outputs[j]
    for k in range(y.numel()):
        seed = _core.zeros(y.numel(), dtype=y.dtype, device=y.device)
        seed[k] = 1
        rows.append(grad(y, inputs, seed.reshape(y.shape), retain_graph=True, allow_unused=True))
    return rows


def gradcheck(func, inputs, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, **ignored):
    """Whether the gradients of func(*inputs) by its float64 inputs are those of differences."""
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    sought = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
    if not sought:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but "
                         "none of the them have requires_grad=True.")
    outputs = _outputs(func, inputs)
    numeric = [_slopes(func, inputs, x, eps) for x in sought]
    for j, y in enumerate(outputs):
        rows = _gradients(outputs, j, sought) if y.requires_grad else []
        for i, x in enumerate(sought):
            for row, found in enumerate(rows):
                exact = [0.0] * x.numel() if found[i] is None else found[i].reshape(-1).tolist()
                for k, value in enumerate(exact):
                    slope = numeric[i][k][j][row]
                    if abs(value - slope) <= atol + rtol * abs(slope):
                        continue
                    if not raise_exception:
                        return False
                    raise GradcheckError(
                        f"Jacobian mismatch for output {j} with respect to input {i}: element "
                        f"{row} by element {k} is {value}, by differences {slope}")
    return True
