"""Jacobians and products with them, a row at a time."""
from .. import _core
from .._core import Tensor


def _tuple(x):
    return (x,) if isinstance(x, Tensor) else tuple(x)


def _fresh(inputs):
    return tuple(x.detach().requires_grad_() for x in inputs)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False):
    """d(func(*inputs))/d(inputs): of shape output.shape + input.shape for each pair; tuples nest as
    the outputs and inputs do."""
    from . import grad
    xs = _fresh(_tuple(inputs))
    out = func(*xs)
    ys = _tuple(out)
    table = []
    for y in ys:
        rows = [[] for _ in xs]
        for k in range(y.numel()):
            seed = _core.zeros(y.numel(), dtype=y.dtype, device=y.device)
            seed[k] = 1
            found = grad(y, xs, seed.reshape(y.shape), retain_graph=True, allow_unused=True) \
                if y.requires_grad else (None,) * len(xs)
            for row, each, x in zip(rows, found, xs):
                row.append(_core.zeros(x.shape, dtype=x.dtype, device=x.device)
                           if each is None else each)
        table.append(tuple(_core.stack(row).reshape(*y.shape, *x.shape)
                           for row, x in zip(rows, xs)))
    if isinstance(inputs, Tensor):
        table = [row[0] for row in table]
    return table[0] if isinstance(out, Tensor) else tuple(table)


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), v times the Jacobian)."""
    from . import grad
    xs = _fresh(_tuple(inputs))
    out = func(*xs)
    seeds = None if v is None else _tuple(v)
    found = grad(_tuple(out), xs, seeds, allow_unused=True)
    found = tuple(_core.zeros(x.shape, dtype=x.dtype, device=x.device) if each is None else each
                  for each, x in zip(found, xs))
    plain = out.detach() if isinstance(out, Tensor) else tuple(y.detach() for y in out)
    return plain, found[0] if isinstance(inputs, Tensor) else found
