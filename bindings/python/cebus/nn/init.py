"""First values of parameters (Glorot and Bengio 2010; He et al. 2015; Saxe et al. 2014)."""
import math

from .. import _core
from ..grad_mode import no_grad

GAINS = {"linear": 1.0, "sigmoid": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0,
         "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}


def calculate_gain(nonlinearity, param=None):
    """What a nonlinearity takes from the spread of its input, as a factor."""
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return GAINS[nonlinearity]


@no_grad()
def uniform_(tensor, a=0.0, b=1.0):
    return tensor.uniform_(a, b)


@no_grad()
def normal_(tensor, mean=0.0, std=1.0):
    return tensor.normal_(mean, std)


@no_grad()
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0):
    """Normal within [a, b]: by the inverse of erf, found by Newton's method from the middle."""
    def below(x):
        return math.erf((x - mean) / std / math.sqrt(2.0))
    draws = _core.uniform(tensor.shape, below(a), below(b), dtype=_core.float64,
                          device=tensor.device)
    return tensor.copy_((_erfinv(draws) * (std * math.sqrt(2.0)) + mean).clamp(a, b))


def _erfinv(y):
    # Start: Winitzki's closed form (2008), good to 2e-3; two steps of Newton give 1e-10.
    log = (1 - y * y).clamp(min=1e-300).log()
    k = 2 / (math.pi * 0.147) + log / 2
    x = y.sign() * ((k * k - log / 0.147).sqrt() - k).clamp(min=0).sqrt()
    for _ in range(2):
        x = x - (x.erf() - y) * (math.sqrt(math.pi) / 2) * (x * x).clamp(max=600).exp()
    return x


@no_grad()
def constant_(tensor, val):
    return tensor.fill_(val)


@no_grad()
def ones_(tensor):
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor):
    return tensor.zero_()


@no_grad()
def eye_(tensor):
    from ..creation import eye as make_eye
    return tensor.copy_(make_eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 "
                         "dimensions")
    field = _core.Size(tensor.shape[2:]).numel()
    return tensor.size(1) * field, tensor.size(0) * field


@no_grad()
def xavier_uniform_(tensor, gain=1.0):
    bound = gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return tensor.uniform_(-bound, bound)


@no_grad()
def xavier_normal_(tensor, gain=1.0):
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return tensor.normal_(0.0, std)


def _kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@no_grad()
def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    if tensor.numel() == 0:
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor.uniform_(-bound, bound)


@no_grad()
def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    if tensor.numel() == 0:
        return tensor
    return tensor.normal_(0.0, _kaiming_std(tensor, a, mode, nonlinearity))


@no_grad()
def orthogonal_(tensor, gain=1.0):
    """Orthonormal rows (or columns): by QR of normal numbers, on the host."""
    import numpy
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    draws = _core.randn(max(rows, columns), min(rows, columns), dtype=_core.float64)
    q, r = numpy.linalg.qr(draws.numpy())
    q = q * numpy.sign(numpy.diag(r))
    q = q.T if rows < columns else q
    return tensor.copy_(_core.tensor(gain * q.reshape(tuple(tensor.shape)), device=tensor.device))


@no_grad()
def dirac_(tensor, groups=1):
    """Convolutions that pass their input on, as far as there are channels for it."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    rows = tensor.size(0) // groups
    middle = tuple(n // 2 for n in tensor.shape[2:])
    tensor.zero_()
    for group in range(groups):
        for i in range(min(rows, tensor.size(1))):
            tensor[(group * rows + i, i, *middle)] = 1.0
    return tensor


@no_grad()
def sparse_(tensor, sparsity, std=0.01):
    """Normal numbers, a share of each column zero (Martens 2010)."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    tensor.normal_(0.0, std)
    order = _core.uniform((rows, columns), dtype=_core.float64, device=tensor.device).argsort(0)
    gone = order.argsort(0) < math.ceil(sparsity * rows)
    return tensor.masked_fill_(gone, 0.0)


# Names without the underscore are PyTorch's former ones.
uniform, normal, constant, eye, dirac, sparse = (uniform_, normal_, constant_, eye_, dirac_,
                                                 sparse_)
xavier_uniform, xavier_normal = xavier_uniform_, xavier_normal_
kaiming_uniform, kaiming_normal, orthogonal = kaiming_uniform_, kaiming_normal_, orthogonal_
