"""Parametrizations of weights: by norm and direction (Salimans and Kingma 2016), or divided by the
largest singular value (Miyato et al. 2018)."""
from ... import _core
from ...grad_mode import no_grad
from ..module import Module
from .parametrize import register_parametrization
from .reparametrized import others_than, power_iterations


class _WeightNorm(Module):
    """original0 is the norms over all but one dimension, original1 the direction."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def _norm(self, v):
        return v.norm(2, others_than(v, self.dim), True)

    def forward(self, g, v):
        return v * (g / self._norm(v))

    def right_inverse(self, weight):
        return self._norm(weight), weight.clone()


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations, dim, eps):
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got "
                             f"n_power_iterations={n_power_iterations}")
        self.dim = dim if dim >= 0 else dim + weight.ndim
        self.eps, self.n_power_iterations = eps, n_power_iterations
        if weight.ndim < 2:
            return
        matrix = self._matrix(weight.detach())
        from ..functional import normalize
        for name, length in zip(("_u", "_v"), matrix.shape):
            start = _core.randn(length, dtype=weight.dtype, device=weight.device)
            self.register_buffer(name, normalize(start, dim=0, eps=eps))
        power_iterations(matrix, self._u, self._v, 15, eps)

    def _matrix(self, weight):
        return weight.movedim(self.dim, 0).flatten(1)

    def forward(self, weight):
        if weight.ndim < 2:
            from ..functional import normalize
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            power_iterations(matrix.detach(), self._u, self._v, self.n_power_iterations, self.eps)
        return weight / self._u.clone().dot(matrix.mv(self._v.clone()))

    def right_inverse(self, value):
        return value


def weight_norm(module, name="weight", dim=0):
    """The parameter's norms over all but `dim` (None: over all) and its direction are learned
    apart: parametrizations.weight.original0 and original1."""
    return register_parametrization(module, name, _WeightNorm(None if dim == -1 else dim),
                                    unsafe=True)


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The parameter divided by its largest singular value, which each forward in training
    estimates better."""
    weight = getattr(module, name)
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    with no_grad():
        made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return register_parametrization(module, name, made)
