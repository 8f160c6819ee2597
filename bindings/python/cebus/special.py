"""Functions of mathematics that the C library leaves to composition, with slopes of their own: what
they are made of is neither kept nor walked for gradients. Errors and gamma functions are computed
in float64. `cebus.special` has them, and others under the names of torch.special.

Formulas: Abramowitz and Stegun 1964, of 4.4 (inverse circular), 4.6 (inverse hyperbolic), 6.1, 6.3,
6.4 (gamma), 7.1 (error function).
"""
import math

from . import _core, missing
from ._core import where
from .autograd.function import Function

METHODS = ("asin acos atan atan2 asinh acosh atanh arcsin arccos arctan arctan2 arcsinh arccosh "
           "arctanh erfc erfinv lgamma digamma sinc logaddexp logaddexp2").split()
FUNCTIONS = "polygamma gammaln psi".split()


class _Sloped(Function):
    """value(x), whose derivative is slope(x, y)."""

    @staticmethod
    def forward(ctx, x, value, slope):
        y = value(x)
        ctx.save_for_backward(x, y)
        ctx.slope = slope
        return y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * ctx.slope(x, y), None, None


def _float(x):
    return x if x.is_floating_point() else x.to(_core.get_default_dtype())


def _in(dtype, value):
    """`value`, computed in another type."""
    def function(x):
        return value(x.to(dtype)).to(x.dtype)
    return function


def _sloped(x, value, slope, exactly=False):
    """`exactly`: computed in float64; else 16-bit types are computed in float32."""
    x = _float(x)
    if exactly and x.dtype is not _core.float64:
        value, slope = _in(_core.float64, value), slope
    elif x.dtype in (_core.float16, _core.bfloat16):
        value = _in(_core.float32, value)
    return _Sloped.apply(x, value, slope)


# --- circular ---------------------------------------------------------------------------------

def _arc(x):
    """atan of 0 <= x <= 1: halved twice, then by its series."""
    for _ in range(2):
        x = x / (1 + (1 + x * x).sqrt())
    square, terms = x * x, 12 if x.dtype is _core.float64 else 6
    total = 1.0 / (2 * terms + 1)
    for k in range(terms - 1, -1, -1):
        total = 1.0 / (2 * k + 1) - square * total
    return 4 * x * total


def _negative(x):
    """Whether the sign is set, of zeros, too."""
    return (x < 0) | ((x == 0) & (1 / x < 0))


def _angle(y, x):
    """Of the point (x, y), from -pi to pi."""
    a, b = x.abs(), y.abs()
    high, low = a.maximum(b), a.minimum(b)
    both = (a == math.inf) & (b == math.inf)
    ratio = where(high == 0, 0.0, low / where(high == 0, 1.0, high))
    angle = _arc(where(both, 1.0, ratio))
    angle = where(b > a, math.pi / 2 - angle, angle)
    angle = where(_negative(x), math.pi - angle, angle)
    return where(_negative(y), -angle, angle)


def atan(x):
    return _sloped(x, lambda x: _angle(x, _core.ones((), dtype=x.dtype, device=x.device)),
                   lambda x, y: 1 / (1 + x * x))


def asin(x):
    return _sloped(x, lambda x: _angle(x, ((1 - x) * (1 + x)).sqrt()),
                   lambda x, y: ((1 - x) * (1 + x)).rsqrt())


def acos(x):
    return _sloped(x, lambda x: _angle(((1 - x) * (1 + x)).sqrt(), x),
                   lambda x, y: -((1 - x) * (1 + x)).rsqrt())


class _Atan2(Function):
    @staticmethod
    def forward(ctx, y, x):
        ctx.save_for_backward(y, x)
        return _angle(y, x)

    @staticmethod
    def backward(ctx, grad):
        y, x = ctx.saved_tensors
        part = grad / (x * x + y * y)
        return part * x, -(part * y)


def atan2(x, other):
    """The angle of the points (other, x), from -pi to pi."""
    kind = _core.result_type(x, other)
    kind = kind if kind.is_floating_point else _core.get_default_dtype()
    narrow = kind in (_core.float16, _core.bfloat16)
    work = _core.float32 if narrow else kind
    return _Atan2.apply(x.to(work), other.to(work)).to(kind)


# --- hyperbolic -------------------------------------------------------------------------------

FAR = 1e8  # there 1 is nothing beside the square, in any type


def _asinh(x):
    size = x.abs()
    near = size.clamp(max=FAR)
    found = where(size > FAR, size.log() + math.log(2),
                  (near + near * near / (1 + (1 + near * near).sqrt())).log1p())
    return where(_negative(x), -found, found)


def asinh(x):
    return _sloped(x, _asinh, lambda x, y: (1 + x * x).rsqrt())


def _acosh(x):
    above = x.clamp(max=FAR) - 1
    return where(x > FAR, x.log() + math.log(2),
                 (above + (2 * above + above * above).sqrt()).log1p())


def acosh(x):
    return _sloped(x, _acosh, lambda x, y: (x * x - 1).rsqrt())


def atanh(x):
    return _sloped(x, lambda x: 0.5 * (2 * x / (1 - x)).log1p(), lambda x, y: 1 / (1 - x * x))


arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh


# --- errors -----------------------------------------------------------------------------------

def _erfc(x):
    """1 - erf(x); far out by a continued fraction (7.1.14)."""
    far = x.clamp(min=3.0)
    tail = far
    for k in range(12, 0, -1):
        tail = far + (0.5 * k) / tail
    return where(x < 3, 1 - x.erf(), (-far * far).exp() / (tail * math.sqrt(math.pi)))


def erfc(x):
    """1 - erf(x), without its loss of digits."""
    return _sloped(x, _erfc, lambda x, y: (-2 / math.sqrt(math.pi)) * (-x * x).exp(), True)


def _erfinv(x):
    """A first guess (Winitzki 2008), and Halley's steps."""
    safe = x.clamp(-1 + 1e-16, 1 - 1e-16)
    log = ((1 - safe) * (1 + safe)).log()
    half = 2 / (math.pi * 0.147) + log / 2
    y = safe.sign() * ((half * half - log / 0.147).sqrt() - half).sqrt()
    for _ in range(3):
        # Beyond zero the difference of complements loses nothing.
        off = where(y > 0, (1 - safe) - _erfc(y.abs()), _erfc(y.abs()) - (1 + safe))
        step = -off * (math.sqrt(math.pi) / 2) * (y * y).exp()
        y = y + step / (1 - y * step)
    return where(x == 1, math.inf, where(x == -1, -math.inf, where(x.abs() > 1, math.nan, y)))


def erfinv(x):
    """y with erf(y) = x."""
    return _sloped(x, _erfinv, lambda x, y: (math.sqrt(math.pi) / 2) * (y * y).exp(), True)


# --- gamma ------------------------------------------------------------------------------------

STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
SHIFT = 8  # from there on the asymptotic series have all digits


def _raised(x):
    """(x, or x + SHIFT where it is small; whether it was small)."""
    small = x < SHIFT
    return where(small, x + SHIFT, x), small


def _series(z, factors):
    """z (f_0 / z^2 + f_1 / z^4 + ...)"""
    square = 1 / (z * z)
    total = factors[-1]
    for factor in factors[-2::-1]:
        total = total * square + factor
    return total * square * z


def _lgamma_above(x):
    """x >= 1/2 (6.1.40)"""
    z, small = _raised(x)
    found = (z - 0.5) * z.log() - z + 0.5 * math.log(2 * math.pi) + _series(z, STIRLING)
    found = where(z == math.inf, math.inf, found)
    low = where(small, x, 1.0)
    steps = low
    for i in range(1, SHIFT):
        steps = steps * (low + i)
    return where(small, found - steps.log(), found)


def _lgamma(x):
    below = x < 0.5
    found = _lgamma_above(where(below, 1 - x, x))
    sine = _sine_of_pi(x).abs()
    return where(below, math.log(math.pi) - sine.log() - found, found)


def _sine_of_pi(x):
    """sin(pi x), zero at whole numbers."""
    part = x - x.round()
    return where(_even(x.round()), 1.0, -1.0) * (part * math.pi).sin()


def _even(whole):
    return whole - 2 * (whole * 0.5).floor() == 0


def _digamma_above(x):
    z, small = _raised(x)
    factors = [b / (2 * k) for k, b in enumerate(BERNOULLI, 1)]
    found = z.log() - 0.5 / z - _series(z, factors) / z
    low, steps = where(small, x, 1.0), 0.0
    for i in range(SHIFT):
        steps = steps + 1 / (low + i)
    return where(small, found - steps, found)


def _digamma(x):
    below = x < 0.5
    found = _digamma_above(where(below, 1 - x, x))
    part = where(below, x - x.round(), 0.25) * math.pi
    found = where(below, found - math.pi * part.cos() / part.sin(), found)
    found = where(x == math.inf, math.inf, found)
    return where(x == 0, -math.inf / x, where((x < 0) & (x == x.round()), math.nan, found))


def _trigamma(x):
    below = x < 0.5
    y = where(below, 1 - x, x)
    z, small = _raised(y)
    found = 1 / z + 0.5 / (z * z) + _series(z, BERNOULLI) / (z * z)
    low, steps = where(small, y, 1.0), 0.0
    for i in range(SHIFT):
        steps = steps + 1 / ((low + i) * (low + i))
    found = where(small, found + steps, found)
    sine = where(below, _sine_of_pi(x), 1.0)
    return where(below, (math.pi / sine) ** 2 - found, found)


def lgamma(x):
    """log |gamma(x)|"""
    return _sloped(x, _lgamma, lambda x, y: digamma(x), True)


def digamma(x):
    """The derivative of lgamma."""
    return _sloped(x, _digamma, lambda x, y: _in(_core.float64, _trigamma)(x), True)


def polygamma(n, x):
    """The n-th derivative of digamma: of order 0 or 1."""
    if n == 0:
        return digamma(x)
    if n != 1:
        raise _core.UnsupportedError(f"polygamma: order {n}; there are 0 and 1")
    if x.requires_grad and _core.is_grad_enabled():
        raise _core.UnsupportedError("polygamma: no gradient of order 1; detach() its input")
    return _in(_core.float64, _trigamma)(_float(x))


gammaln, psi = lgamma, digamma


# --- others -----------------------------------------------------------------------------------

def sinc(x):
    """sin(pi x) / (pi x), 1 at zero."""
    if x.dtype in (_core.float16, _core.bfloat16):
        return sinc(x.float()).to(x.dtype)
    angle = _float(x) * math.pi
    zero = angle == 0
    safe = where(zero, 1.0, angle)
    return where(zero, 1.0, safe.sin() / safe)


def entr(x):
    """-x log(x): 0 at zero, and below it -infinity."""
    x = _float(x)
    inside = x > 0
    outside = where(x == 0, 0.0, x.detach().clamp(max=0) * math.inf)
    return where(inside, -x * where(inside, x, 1.0).log(), outside)


def xlog1py(x, other):
    """x log(1 + other), 0 where x is 0 and `other` is a number."""
    kind = _core.result_type(x, other)
    kind = kind if kind.is_floating_point else _core.get_default_dtype()
    other = other.to(kind) if isinstance(other, _core.Tensor) else \
        _core.tensor(float(other), dtype=kind, device=x.device)
    x = x.to(kind)
    nothing = (x == 0) & (other == other)
    return where(nothing, 0.0, x * where(nothing, 0.0, other).log1p())


def ndtr(x):
    """The distribution function of the normal distribution."""
    return erfc(_float(x) * -math.sqrt(0.5)) * 0.5


def logaddexp(x, other):
    """log(e^x + e^other)"""
    high = x.maximum(other).detach()
    high = where(high.abs() == math.inf, 0.0, high)
    return ((x - high).exp() + (other - high).exp()).log() + high


def logaddexp2(x, other):
    """log2(2^x + 2^other)"""
    kind = _core.result_type(x, other)
    kind = kind if kind.is_floating_point else _core.get_default_dtype()
    x, other = x.to(kind), other.to(kind)
    return logaddexp(x * math.log(2), other * math.log(2)) * (1 / math.log(2))


# --- names of torch.special ---------------------------------------------------------------------

ALIASES = {"expit": "sigmoid", "round": "round", "exp2": "exp2", "expm1": "expm1", "erf": "erf",
           "log1p": "log1p", "logit": "logit", "xlogy": "xlogy", "softmax": "softmax",
           "log_softmax": "log_softmax", "logsumexp": "logsumexp"}


def __dir__():
    return sorted({*globals(), *ALIASES})


def __getattr__(name):
    if name in ALIASES:
        import cebus
        return getattr(cebus, ALIASES[name])
    raise missing.explain("cebus.special", name, __dir__())
