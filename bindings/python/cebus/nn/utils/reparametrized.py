"""Weights made of others before each forward: by norm and direction (Salimans and Kingma 2016), or
divided by their largest singular value (Miyato et al. 2018)."""
from ... import _core
from ...grad_mode import no_grad
from ..parameter import Parameter


def others_than(x, dim):
    """All dimensions but `dim`, or all."""
    return [d for d in range(x.ndim) if dim is None or d != dim % x.ndim]


class _Hook:
    """Puts the weight in place before forward."""

    def __call__(self, module, inputs):
        object.__setattr__(module, self.name, self.weight(module))


def _attached(module, name, kind):
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            return key, hook
    return None


def _take_away(module, name, kind, what):
    """The weight as a parameter again."""
    found = _attached(module, name, kind)
    if found is None:
        raise ValueError(f"{what} of '{name}' not found in {module}")
    key, hook = found
    with no_grad():
        weight = hook.weight(module)
    del module._forward_pre_hooks[key]
    module.__dict__.pop(name, None)
    for part in hook.parts:
        delattr(module, name + part)
    module.register_parameter(name, Parameter(weight))
    return module


def _split(module, name, hook, parts):
    if _attached(module, name, type(hook)) is not None:
        raise RuntimeError(f"Cannot register two hooks on the same parameter {name}")
    delattr(module, name)
    for part, value in parts.items():
        module.register_parameter(name + part, Parameter(value))
    hook(module, None)
    module.register_forward_pre_hook(hook)
    return module


class _WeightNorm(_Hook):
    parts = ("_g", "_v")

    def __init__(self, name, dim):
        self.name, self.dim = name, dim

    def weight(self, module):
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / v.norm(2, others_than(v, self.dim), True))


def weight_norm(module, name="weight", dim=0):
    """The parameter becomes two: its norms over all but `dim`, name_g, and its direction,
    name_v."""
    dim = None if dim == -1 else dim
    value = getattr(module, name).detach()
    return _split(module, name, _WeightNorm(name, dim),
                  {"_g": value.norm(2, others_than(value, dim), True), "_v": value.clone()})


def remove_weight_norm(module, name="weight"):
    return _take_away(module, name, _WeightNorm, "weight_norm")


def power_iterations(matrix, u, v, rounds, eps):
    """Rounds of the power method: u and v near the vectors of the largest singular value."""
    from ..functional import normalize
    with no_grad():
        for _ in range(rounds):
            v.copy_(normalize(matrix.t().mv(u), dim=0, eps=eps))
            u.copy_(normalize(matrix.mv(v), dim=0, eps=eps))


class _SpectralNorm(_Hook):
    parts = ("_orig", "_u", "_v")

    def __init__(self, name, rounds, dim, eps):
        self.name, self.rounds, self.dim, self.eps = name, rounds, dim, eps

    def matrix(self, weight):
        return weight.movedim(self.dim, 0).flatten(1)

    def weight(self, module):
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.matrix(weight)
        if module.training:
            power_iterations(matrix.detach(), u, v, self.rounds, self.eps)
        largest = u.clone().dot(matrix.mv(v.clone()))
        return weight / largest


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The parameter, name_orig, divided by its largest singular value."""
    from ..functional import normalize
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    hook = _SpectralNorm(name, n_power_iterations, dim, eps)
    value = getattr(module, name).detach()
    rows, columns = hook.matrix(value).shape
    for part, length in (("_u", rows), ("_v", columns)):
        start = _core.randn(length, dtype=value.dtype, device=value.device)
        module.register_buffer(name + part, normalize(start, dim=0, eps=eps))
    return _split(module, name, hook, {"_orig": value.clone()})


def remove_spectral_norm(module, name="weight"):
    return _take_away(module, name, _SpectralNorm, "spectral_norm")
