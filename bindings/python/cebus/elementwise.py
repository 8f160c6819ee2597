"""Functions of each element that the C library leaves to composition."""
import math

from . import _core
from ._core import Tensor, floor, trunc, where

METHODS = (
    "ceil round frac log2 log10 log1p expm1 exp2 tan sinh cosh isnan isinf isfinite isneginf "
    "isposinf nan_to_num clamp_min clamp_max clip lerp addcmul addcdiv fmod remainder "
    "floor_divide true_divide divide multiply subtract negative absolute hypot xlogy "
    "logical_and logical_or logical_not logical_xor masked_fill not_equal greater less "
    "greater_equal less_equal logit sgn deg2rad rad2deg copysign signbit heaviside float_power "
    "fmax fmin positive isreal ldexp bitwise_and bitwise_or bitwise_xor bitwise_not "
    "bitwise_left_shift bitwise_right_shift gcd lcm nextafter").split()
FUNCTIONS = "rsub softplus".split()


def ceil(x):
    """The smallest whole number that is not below x."""
    return -floor(-x)


def round(x, *, decimals=0):  # noqa: A001 (PyTorch's name)
    """The nearest whole number, halves to even."""
    if not x.is_floating_point():
        return x
    scale = 10.0 ** decimals
    scaled = x if decimals == 0 else x * scale
    low = floor(scaled)
    up = (scaled - low > 0.5) | ((scaled - low == 0.5) & (low - 2 * floor(low / 2) == 1))
    whole = low + up.to(low.dtype)
    return whole if decimals == 0 else whole / scale


def frac(x):
    """What stands behind the point."""
    return x - trunc(x)


def log2(x):
    return x.log() * (1 / math.log(2))


def log10(x):
    return x.log() * (1 / math.log(10))


def _float(x):
    return x if x.is_floating_point() else x.to(_core.get_default_dtype())


def log1p(x):
    """log(1 + x), also for tiny x: there log(u) x / (u - 1), u = 1 + x, loses no digits."""
    x = _float(x)
    u = 1 + x
    d = (u - 1).detach()
    exact = u.log() * (x / where(d == 0, 1.0, d)).detach()
    return where(d == 0, x, where(isinf(u), u.log(), exact))


def expm1(x):
    """e^x - 1, by 2 tanh(x / 2) / (1 - tanh(x / 2)) near zero."""
    x = _float(x)
    t = (x * 0.5).tanh()
    return where(x.abs() < 1, 2 * t / (1 - t), x.exp() - 1)


def exp2(x):
    return (x * math.log(2)).exp()


def tan(x):
    return x.sin() / x.cos()


def sinh(x):
    x = _float(x)
    return (expm1(x) - expm1(-x)) * 0.5


def cosh(x):
    x = _float(x)
    return (x.exp() + (-x).exp()) * 0.5


def isnan(x):
    return x != x


def isinf(x):
    return x.detach().abs() == math.inf if x.is_floating_point() else _core.zeros(
        x.shape, dtype=_core.bool_, device=x.device)


def isfinite(x):
    return x.detach().abs() < math.inf if x.is_floating_point() else _core.ones(
        x.shape, dtype=_core.bool_, device=x.device)


def isposinf(x):
    return x.detach() == math.inf


def isneginf(x):
    return x.detach() == -math.inf


LARGEST = {"float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308,
           "float16": 65504.0, "bfloat16": 3.3895313892515355e38}


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    """NaN and the infinities replaced by numbers."""
    if not x.is_floating_point():
        return x.clone()
    largest = LARGEST[x.dtype.name]
    x = where(isnan(x), float(nan), x)
    x = where(isposinf(x), float(largest if posinf is None else posinf), x)
    return where(isneginf(x), float(-largest if neginf is None else neginf), x)


def clamp_min(x, min):  # noqa: A002
    return x.clamp(min=min)


def clamp_max(x, max):  # noqa: A002
    return x.clamp(max=max)


def clip(x, min=None, max=None):  # noqa: A002
    return x.clamp(min, max)


def lerp(x, end, weight):
    """x + weight (end - x)"""
    return x + weight * (end - x)


def _all_meeting(x, a, b):
    """All three in the type that they meet in, which a number beside them does not change."""
    kind = _core.result_type(x, a)
    if isinstance(b, Tensor) and b.dtype is not kind:
        ndim = max(x.ndim, a.ndim if isinstance(a, Tensor) else 0)
        kind = _core.result_type(_core.zeros((1,) * ndim, dtype=kind, device=x.device), b)
    return [each.to(kind) if isinstance(each, Tensor) else each for each in (x, a, b)]


def addcmul(x, a, b, *, value=1):
    """x + value a b; among whole numbers `value` is one, too: cut off"""
    x, a, b = _all_meeting(x, a, b)
    if not x.is_floating_point() and x.dtype is not _core.bool_:
        value = int(value)
    return x + value * a * b


def addcdiv(x, a, b, *, value=1):
    """x + value a / b"""
    x, a, b = _all_meeting(x, a, b)
    return x + value * (a / b)


def remainder(x, other):
    """What is left of a division rounded down: of the sign of the divisor."""
    return x % other


def fmod(x, other):
    """What is left of a division rounded towards zero: of the sign of x."""
    if not _core.result_type(x, other).is_floating_point:
        return x - x.div(other, rounding_mode="trunc") * other
    return _core._rest(x, other, False)


def floor_divide(x, other):
    return x // other


def true_divide(x, other):
    return x / other


def divide(x, other, *, rounding_mode=None):
    return x.div(other, rounding_mode=rounding_mode)


def multiply(x, other):
    return x * other


def subtract(x, other, *, alpha=1):
    return x.sub(other, alpha=alpha)


def negative(x):
    return -x


def absolute(x):
    return x.abs()


def sgn(x):
    return x.sign()


def hypot(x, other):
    """The length of (x, other), also where its square does not fit."""
    from .reductions import _power_for
    kind = _core.result_type(x, other)
    if kind in (_core.float16, _core.bfloat16):
        return hypot(x.float(), other.float()).to(kind)
    if not kind.is_floating_point:
        raise _core.DtypeError(f"hypot: of floating point numbers, not of {kind}")
    x, other = x.to(kind), other.to(kind)
    size = x.detach().abs().maximum(other.detach().abs())
    scale = _power_for(size)
    a, b = x * scale, other * scale
    found = (a * a + b * b).sqrt() / scale
    return where((x.detach().abs() == math.inf) | (other.detach().abs() == math.inf), math.inf,
                 found)


def xlogy(x, other):
    """x log(other), 0 where x is 0 and `other` is a number."""
    kind = _core.result_type(x, other)
    kind = kind if kind.is_floating_point else _core.get_default_dtype()
    other = other.to(kind) if isinstance(other, Tensor) else \
        _core.tensor(float(other), dtype=kind, device=x.device)
    x, one = x.to(kind), _core.ones((), dtype=kind, device=x.device)
    nothing = (x == 0) & (other == other)
    return where(nothing, 0.0, x * where(nothing, one, other).log())


def logit(x, eps=None):
    """log(x / (1 - x))"""
    x = x if eps is None else x.clamp(eps, 1 - eps)
    return (x / (1 - x)).log()


def softplus(x, beta=1, threshold=20):
    """log(1 + e^(beta x)) / beta; x itself where beta x is above the threshold."""
    scaled = x * beta
    # Of equal operands each gets half of maximum()'s gradient: 1/2 at zero, as it should be.
    above = scaled.maximum(_core.zeros((), dtype=scaled.dtype, device=scaled.device))
    return where(scaled > threshold, x, (above + log1p((-scaled.abs()).exp())) / beta)


def _truth(x):
    return x if x.dtype is _core.bool_ else x != 0


def logical_and(x, other):
    return _truth(x) & _truth(other)


def logical_or(x, other):
    return _truth(x) | _truth(other)


def logical_xor(x, other):
    return _truth(x) ^ _truth(other)


def logical_not(x):
    return ~_truth(x)


def masked_fill(x, mask, value):
    """x with `value` where `mask` holds."""
    if isinstance(value, Tensor):
        value = value.to(x.dtype)
    elif not x.is_floating_point():
        value = bool(value) if x.dtype is _core.bool_ else int(value)
    return where(mask, value, x)


not_equal, greater, less = Tensor.ne, Tensor.gt, Tensor.lt
greater_equal, less_equal = Tensor.ge, Tensor.le


# --- others -----------------------------------------------------------------------------------

def deg2rad(x):
    return x * (math.pi / 180)


def rad2deg(x):
    return x * (180 / math.pi)


def _meeting(x, other):
    """The type that both meet in, and the other one as a tensor of it."""
    kind = _core.result_type(x, other)
    if isinstance(other, Tensor):
        return kind, other.to(kind)
    return kind, _core.full((), other, dtype=kind, device=x.device)


def _whole(name, x, other):
    kind, other = _meeting(x, other)
    if kind.is_floating_point or kind is _core.bool_:
        raise _core.DtypeError(f"{name}: of whole numbers, not of {kind}")
    return x.to(kind), other


def gcd(x, other):
    """The greatest common divisor, by Euclid: the host waits for each of its steps."""
    x, other = _whole("gcd", x, other)
    a, b = x.abs() + 0 * other, other.abs() + 0 * x
    left = b != 0
    while left.any().item():
        a, b = where(left, b, a), where(left, a.fmod(where(left, b, 1)), 0)
        left = b != 0
    return a.abs()


def lcm(x, other):
    """The least common multiple; 0 where either is 0."""
    x, other = _whole("lcm", x, other)
    common = gcd(x, other)
    return (x.div(where(common == 0, 1, common), rounding_mode="trunc") * other).abs()


# Of each type: the relative step that rounds to the next number, the least number, the least that
# has all digits, and a factor out of the range above it where neither step is right (Rump,
# Zimmermann, Boldo and Melquiond 2009).
_STEPS = {_core.bfloat16: (2.0 ** -8 * (1 + 2.0 ** -7), 2.0 ** -133, 2.0 ** -126, 2.0 ** 40),
          _core.float32: (2.0 ** -24 * (1 + 2.0 ** -23), 2.0 ** -149, 2.0 ** -126, 2.0 ** 40),
          _core.float64: (2.0 ** -53 * (1 + 2.0 ** -52), 2.0 ** -1074, 2.0 ** -1022, 2.0 ** 100)}


def _raised(x, kind):
    """The next number above a finite x."""
    step, least, normal, factor = _STEPS[kind]
    size, scaled = x.abs(), x * factor
    near = (scaled + scaled.abs() * step) / factor
    found = where(size <= 4 * normal, near, x + (size * step + least))
    return where(size <= normal, x + least, found)


def nextafter(x, other):
    """The number next to x on the way to the other, of bf16, f32 or f64."""
    from .limits import finfo
    kind, other = _meeting(x, other)
    if kind not in _STEPS:
        raise _core.DtypeError(f"nextafter: of bfloat16, float32 or float64, not of {kind}")
    x, other = x.detach().to(kind), other.detach()
    sign = where(other > x, 1.0, -1.0).to(kind)
    toward = x * sign
    low = toward == -math.inf
    found = sign * where(low, -finfo(kind).max, _raised(where(low, 0.0, toward), kind))
    return where(x == other, other, where((x != x) | (other != other), math.nan, found))


def signbit(x):
    """Whether the sign is set, of zeros, too."""
    x = x.detach()
    return (x < 0) | ((x == 0) & (1 / x < 0)) if x.is_floating_point() else x < 0


def copysign(x, other):
    """|x| with the sign of the other."""
    if not isinstance(other, Tensor) or not other.is_floating_point():
        x = _float(x)
    if not isinstance(other, Tensor):
        other = _core.tensor(float(other), dtype=x.dtype, device=x.device)
    x = x.to(_core.result_type(x, other))
    negative_ = signbit(other)
    # The slope is that of |x| with the sign: zero at zero.
    sign = where(negative_, -1.0, 1.0).to(x.dtype)
    return where(x == 0, (sign * 0.0 * x.detach().abs()), x.abs() * sign)


def heaviside(x, values):
    """0 below zero, 1 above, `values` at zero."""
    return where(x == 0, values, (x > 0).to(x.dtype))


def float_power(x, exponent):
    """The power in float64."""
    x = x.double() if isinstance(x, Tensor) else x
    return x ** (exponent.double() if isinstance(exponent, Tensor) else float(exponent))


def _beside_nan(x, other, join):
    kind, other = _meeting(x, other)
    x = x.to(kind)
    if not kind.is_floating_point:
        return join(x, other)
    return where(x != x, other, where(other != other, x, join(x, other)))


def fmax(x, other):
    """The larger of each pair; a number beside NaN."""
    return _beside_nan(x, other, Tensor.maximum)


def fmin(x, other):
    """The smaller of each pair; a number beside NaN."""
    return _beside_nan(x, other, Tensor.minimum)


def positive(x):
    """x"""
    return x


def isreal(x):
    """Every element is."""
    return _core.ones(x.shape, dtype=_core.bool_, device=x.device)


def ldexp(x, other):
    """x 2^other"""
    return x * 2.0 ** other


def rsub(x, other, *, alpha=1):
    """other - alpha x"""
    return other - x * alpha


def bitwise_and(x, other):
    return x & other


def bitwise_or(x, other):
    return x | other


def bitwise_xor(x, other):
    return x ^ other


def bitwise_left_shift(x, other):
    """x 2^other, without the bits that the type does not have."""
    return x << other


def bitwise_right_shift(x, other):
    """x / 2^other rounded down."""
    return x >> other


def bitwise_not(x):
    return ~x
