"""Jacobians and products with them, a row at a time. Gradients of gradients are not recorded: what
needs them is refused."""
from .. import _core
from .._core import Tensor


def _tuple(x):
    return (x,) if isinstance(x, Tensor) else tuple(x)


def _refuse_graph(create_graph):
    from . import _refuse_graph as refuse
    refuse(create_graph)


def _refuse_second(name, instead):
    raise _core.UnsupportedError(f"{name}: gradients of gradients are not recorded: write the "
                                 "gradient of func out as a function of tensors, such as "
                                 f"lambda x: 2 * x for (x ** 2).sum(), and call {instead} with it")


def _fresh(inputs):
    return tuple(x.detach().requires_grad_() for x in inputs)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False):
    """d(func(*inputs))/d(inputs): of shape output.shape + input.shape for each pair; tuples nest as
    the outputs and inputs do."""
    from . import grad
    _refuse_graph(create_graph)
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
    _refuse_graph(create_graph)
    xs = _fresh(_tuple(inputs))
    out = func(*xs)
    seeds = None if v is None else _tuple(v)
    found = grad(_tuple(out), xs, seeds, allow_unused=True)
    found = tuple(_core.zeros(x.shape, dtype=x.dtype, device=x.device) if each is None else each
                  for each, x in zip(found, xs))
    plain = out.detach() if isinstance(out, Tensor) else tuple(y.detach() for y in out)
    return plain, found[0] if isinstance(inputs, Tensor) else found


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), the Jacobian times v). It is made of rows of the Jacobian: a walk back for
    each element of the results, where vjp() takes one in all."""
    from . import grad
    _refuse_graph(create_graph)
    xs = _fresh(_tuple(inputs))
    if v is None and any(x.numel() != 1 for x in xs):
        raise _core.InvalidArgumentError("jvp: v is needed where an input has not one element")
    vs = tuple(_core.ones(x.shape, dtype=x.dtype, device=x.device) for x in xs) \
        if v is None else _tuple(v)
    if [x.shape for x in xs] != [each.shape for each in vs]:
        raise _core.ShapeError(f"jvp: v is of {[tuple(each.shape) for each in vs]}, the inputs of "
                               f"{[tuple(x.shape) for x in xs]}: they must be alike")
    out = func(*xs)
    found = tuple(_along(y, xs, vs, grad) for y in _tuple(out))
    if isinstance(out, Tensor):
        return out.detach(), found[0]
    return tuple(y.detach() for y in out), found


def _along(y, xs, vs, grad):
    """d(y) when the inputs change by `vs`."""
    if not y.requires_grad:
        return _core.zeros(y.shape, dtype=y.dtype, device=y.device)
    changes = []
    for k in range(y.numel()):
        seed = _core.zeros(y.numel(), dtype=y.dtype, device=y.device)
        seed[k] = 1
        row = grad(y, xs, seed.reshape(y.shape), retain_graph=True, allow_unused=True)
        parts = [(each * v).sum() for each, v in zip(row, vs) if each is not None]
        changes.append(sum(parts[1:], parts[0]) if parts else seed[0] * 0)
    return _core.stack(changes).to(y.dtype).reshape(y.shape) if changes else y.detach()


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False):
    """Refused: it says what to do."""
    _refuse_second("hessian", "jacobian()")


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """Refused: it says what to do."""
    _refuse_second("hvp", "jvp()")


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """Refused: it says what to do."""
    _refuse_second("vhp", "vjp()")
