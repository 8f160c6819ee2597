"""What types of numbers hold, under the names of torch.finfo and torch.iinfo."""
from . import _core

# Bits behind the point, least and largest exponent of two.
FLOATS = {"float64": (52, -1022, 1023), "float32": (23, -126, 127), "float16": (10, -14, 15),
          "bfloat16": (7, -126, 127)}
WHOLE = {"int64": (64, True), "int32": (32, True), "uint8": (8, False)}


class finfo:
    """Of a type of floating-point numbers (the default one)."""

    def __init__(self, dtype=None):
        dtype = dtype or _core.get_default_dtype()
        if not isinstance(dtype, _core.dtype) or dtype.name not in FLOATS:
            raise TypeError(f"finfo() requires a floating point type, not {dtype}; iinfo() is for "
                            "whole numbers")
        bits, low, high = FLOATS[dtype.name]
        self.bits, self.dtype = 8 * dtype.itemsize, dtype.name
        self.eps, self.tiny = 2.0 ** -bits, 2.0 ** low
        self.max = (2.0 - self.eps) * 2.0 ** high
        self.min, self.smallest_normal = -self.max, self.tiny
        self.resolution = 10.0 ** -int(bits * 0.30103)

    def __repr__(self):
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
                f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
                f"dtype={self.dtype})")


class iinfo:
    """Of a type of whole numbers."""

    def __init__(self, dtype):
        if not isinstance(dtype, _core.dtype) or dtype.name not in WHOLE:
            raise TypeError(f"iinfo() requires a type of whole numbers, not {dtype}")
        self.bits, signed = WHOLE[dtype.name]
        self.dtype = dtype.name
        self.max = 2 ** (self.bits - signed) - 1
        self.min = -self.max - 1 if signed else 0

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def _rank(kind):
    return 0 if kind is _core.bool_ else 2 if kind.is_floating_point else 1


def can_cast(from_, to):
    """Whether numbers stay what they are, but for their size."""
    return _rank(from_) <= _rank(to)
