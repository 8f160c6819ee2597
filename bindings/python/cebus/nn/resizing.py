"""Images, sequences and volumes made larger or smaller. Nearest and bilinear images are operations
of the C library; all else is a product with a matrix of weights along each dimension."""
import math

from .. import _core

__all__ = ["interpolate", "upsample", "upsample_nearest", "upsample_bilinear"]

LINEAR = {"linear": 3, "bilinear": 4, "trilinear": 5}


def _sizes(input, size, scale_factor):
    """(lengths wanted, factors or None) of the dimensions behind the channels."""
    n = input.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined"
                         if size is not None else "either size or scale_factor should be defined")
    if size is not None:
        return list(size) if isinstance(size, (tuple, list)) else [size] * n, [None] * n
    factors = list(scale_factor) if isinstance(scale_factor, (tuple, list)) else [scale_factor] * n
    return [math.floor(length * factor) for length, factor in zip(input.shape[2:], factors)], \
        factors


def _nearest(length, wanted, factor, exact):
    """For each index of the result the one that it is read from."""
    step = length / wanted if factor is None else 1 / factor
    return [min(int((i + 0.5 if exact else i) * step), length - 1) for i in range(wanted)]


def _source(i, length, wanted, factor, align_corners):
    if align_corners:
        return i * (length - 1) / (wanted - 1) if wanted > 1 else 0.0
    return (i + 0.5) * (length / wanted if factor is None else 1 / factor) - 0.5


def _cubic(distance):
    """Keys' kernel of a = -0.75 (1981)."""
    x, a = abs(distance), -0.75
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a if x < 2 else 0.0


def _weights(length, wanted, factor, align_corners, cubic):
    """[wanted, length]: what each element of the result takes of each."""
    rows = []
    for i in range(wanted):
        at = _source(i, length, wanted, factor, align_corners)
        at = at if cubic else max(at, 0.0)
        first, row = math.floor(at), [0.0] * length
        for k in range(first - 1, first + 3) if cubic else (first, first + 1):
            share = _cubic(at - k) if cubic else 1 - abs(at - k)
            row[min(max(k, 0), length - 1)] += share
        rows.append(row)
    return rows


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None,
                recompute_scale_factor=None, antialias=False):
    """[N, C, L], [N, C, H, W] or [N, C, D, H, W] made larger or smaller: nearest, nearest-exact,
    linear, bilinear, trilinear, bicubic or area."""
    if antialias:
        raise _core.UnsupportedError("interpolate: antialias is not there")
    if mode in LINEAR and LINEAR[mode] != input.ndim or mode == "bicubic" and input.ndim != 4:
        raise NotImplementedError(f"interpolate: mode {mode!r} of a tensor of {input.ndim} "
                                  "dimensions")
    if align_corners is not None and mode in ("nearest", "nearest-exact", "area"):
        raise ValueError("align_corners option can only be set with the interpolating modes: "
                         "linear | bilinear | bicubic | trilinear")
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    wanted, factors = _sizes(input, size, scale_factor)
    if recompute_scale_factor:
        factors = [None] * len(wanted)
    if input.ndim == 4 and mode in ("nearest", "bilinear"):
        return _core.interpolate2d(input, wanted if None in factors else None,
                                   None if None in factors else factors, mode,
                                   bool(align_corners))
    if mode == "area":
        from . import functional
        name = f"adaptive_avg_pool{input.ndim - 2}d"
        return getattr(functional, name)(input, tuple(wanted) if input.ndim > 3 else wanted[0])
    if mode not in (*LINEAR, "bicubic", "nearest", "nearest-exact"):
        raise NotImplementedError(f"interpolate: there is no mode {mode!r}")
    for dim, (length, factor) in enumerate(zip(wanted, factors), 2):
        input = _along(input, dim, length, factor, mode, bool(align_corners))
    return input


def _along(x, dim, wanted, factor, mode, align_corners):
    if mode.startswith("nearest"):
        index = _nearest(x.size(dim), wanted, factor, mode == "nearest-exact")
        return x.index_select(dim, _core.tensor(index, device=x.device))
    table = _core.tensor(_weights(x.size(dim), wanted, factor, align_corners, mode == "bicubic"),
                         dtype=x.dtype, device=x.device)
    return (x.movedim(dim, -1) @ table.t()).movedim(-1, dim)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """interpolate() under its former name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor, "bilinear", True)
