"""Functions of where pixels are: pooling that says from where, its inverse, grids, windows laid
back, channels rearranged."""
import math

from .. import _core
from .._core import where

__all__ = ["fold", "grid_sample", "affine_grid", "max_unpool1d", "max_unpool2d",
           "pixel_unshuffle", "channel_shuffle", "lp_pool1d", "lp_pool2d",
           "max_pool2d_with_indices", "max_pool1d_with_indices", "adaptive_max_pool1d"]


def _pair(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


# --- pooling ----------------------------------------------------------------------------------

def max_pool2d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1,
                            ceil_mode=False, return_indices=True):
    """(the largest pixel of each window, its place in the row-major plane)"""
    from .functional import max_pool2d
    shape = max_pool2d(input.detach(), kernel_size, stride, padding, dilation, ceil_mode).shape
    kernel, padding, dilation = _pair(kernel_size), _pair(padding), _pair(dilation)
    stride = kernel if stride is None or stride == [] else _pair(stride)
    height, width = input.shape[-2:]
    reach = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in
             zip(shape[-2:], stride, kernel, dilation)]
    wide = _core.pad_constant(
        input.detach(), (padding[1], max(reach[1] - width - padding[1], 0),
                         padding[0], max(reach[0] - height - padding[0], 0)), -math.inf)
    parts = [wide[..., i:i + (shape[-2] - 1) * stride[0] + 1:stride[0],
                  j:j + (shape[-1] - 1) * stride[1] + 1:stride[1]]
             for i in range(0, kernel[0] * dilation[0], dilation[0])
             for j in range(0, kernel[1] * dilation[1], dilation[1])]
    best = _core.stack(parts, -1).argmax(-1)
    row_of = best // kernel[1]
    column_of = best - row_of * kernel[1]
    rows = _core.arange(shape[-2], device=input.device).unsqueeze(1) * stride[0] - padding[0]
    columns = _core.arange(shape[-1], device=input.device) * stride[1] - padding[1]
    index = (rows + row_of * dilation[0]) * width + columns + column_of * dilation[1]
    values = input.flatten(-2).gather(-1, index.flatten(-2)).reshape(shape)
    return values, index


def max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1,
                            ceil_mode=False, return_indices=True):
    """(the largest element of each window, its place)"""
    one = [None if each is None else each[0] if isinstance(each, (tuple, list)) else each
           for each in (kernel_size, stride, padding, dilation)]
    out, index = max_pool2d_with_indices(
        input.unsqueeze(-2), (1, one[0]), (1, one[0] if one[1] is None else one[1]), (0, one[2]),
        (1, one[3]), ceil_mode)
    return out.squeeze(-2), index.squeeze(-2)


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """The largest of windows such that the result has the given length."""
    from .functional import adaptive_max_pool2d
    if return_indices:
        raise _core.UnsupportedError("adaptive_max_pool1d: indices are not answered")
    size = output_size[0] if isinstance(output_size, (tuple, list)) else output_size
    return adaptive_max_pool2d(input.unsqueeze(-2), (1, size)).squeeze(-2)


def _unpooled(input, indices, size):
    lead = tuple(input.shape[:input.ndim - len(size)])
    flat = _core.zeros(lead + (math.prod(size),), dtype=input.dtype, device=input.device)
    at = len(lead)
    return flat.scatter(-1, indices.flatten(at), input.flatten(at)).reshape(lead + tuple(size))


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Each value at the place that max_pool2d took it from; zero elsewhere."""
    kernel, padding = _pair(kernel_size), _pair(padding)
    stride = kernel if stride is None else _pair(stride)
    usual = [(n - 1) * s + k - 2 * p for n, s, k, p in
             zip(input.shape[-2:], stride, kernel, padding)]
    return _unpooled(input, indices, usual if output_size is None else list(output_size)[-2:])


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Each value at the place that max_pool1d took it from; zero elsewhere."""
    one = lambda value: value[0] if isinstance(value, (tuple, list)) else value  # noqa: E731
    stride = kernel_size if stride is None else stride
    usual = (input.size(-1) - 1) * one(stride) + one(kernel_size) - 2 * one(padding)
    return _unpooled(input, indices, [usual] if output_size is None else list(output_size)[-1:])


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window."""
    from .functional import avg_pool2d
    kernel = _pair(kernel_size)
    mean = avg_pool2d(input ** norm_type, kernel, stride, 0, ceil_mode)
    return (mean.sign() * mean.abs().relu() * (kernel[0] * kernel[1])) ** (1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window."""
    from .functional import avg_pool1d
    mean = avg_pool1d(input ** norm_type, kernel_size, stride, 0, ceil_mode)
    size = kernel_size[0] if isinstance(kernel_size, (tuple, list)) else kernel_size
    return (mean.sign() * mean.abs().relu() * size) ** (1.0 / norm_type)


# --- windows ----------------------------------------------------------------------------------

def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The sum of windows [N, C KH KW, L] laid back on images [N, C, H, W]."""
    from ..creation import eye
    if input.ndim == 2:
        return fold(input.unsqueeze(0), output_size, kernel_size, dilation, padding,
                    stride).squeeze(0)
    size, kernel, dilation = _pair(output_size), _pair(kernel_size), _pair(dilation)
    padding, stride = _pair(padding), _pair(stride)
    if min(stride) <= 0 or min(dilation) <= 0:
        raise _core.InvalidArgumentError("fold: stride and dilation should be greater than zero, "
                                         f"but got {list(stride)} and {list(dilation)}")
    count = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in
             zip(size, padding, dilation, kernel, stride)]
    area = kernel[0] * kernel[1]
    if input.size(1) % area or input.size(2) != count[0] * count[1]:
        raise _core.ShapeError(f"fold: {list(input.shape)} are not {count[0]} x {count[1]} windows "
                               f"of {kernel[0]} x {kernel[1]}")
    extra = [n - ((m - 1) * s - 2 * p + d * (k - 1) + 1) for n, m, s, p, d, k in
             zip(size, count, stride, padding, dilation, kernel)]
    channels = input.size(1) // area
    unit = eye(area, dtype=input.dtype, device=input.device).reshape(area, 1, *kernel)
    images = input.reshape(input.size(0), input.size(1), *count)
    return _core.conv_transpose2d(images, unit.repeat(channels, 1, 1, 1), None, stride, padding,
                                  extra, channels, dilation)


def pixel_unshuffle(input, downscale_factor):
    """The inverse of pixel_shuffle."""
    *lead, c, h, w = input.shape
    r = downscale_factor
    if h % r or w % r:
        raise _core.ShapeError(f"pixel_unshuffle: {h} x {w} is not a multiple of {r}")
    x = input.reshape(-1, c, h // r, r, w // r, r).permute(0, 1, 3, 5, 2, 4)
    return x.reshape(*lead, c * r * r, h // r, w // r)


def channel_shuffle(input, groups):
    """Channels of several groups in turns (Zhang et al. 2018)."""
    n, c = input.shape[:2]
    rest = tuple(input.shape[2:])
    if c % groups:
        raise _core.ShapeError(f"channel_shuffle: {c} channels in {groups} groups")
    return input.reshape(n, groups, c // groups, *rest).transpose(1, 2).reshape(n, c, *rest)


# --- grids ------------------------------------------------------------------------------------

def affine_grid(theta, size, align_corners=False):
    """Where [N, 2, 3] maps send the pixels of images of a size: [N, H, W, 2]."""
    n, _, h, w = size
    axes = []
    for length in (w, h):
        steps = _core.arange(length, dtype=theta.dtype, device=theta.device)
        axes.append(steps * (2 / max(length - 1, 1)) - (1.0 if length > 1 else 0.0)
                    if align_corners else (steps * 2 + 1) * (1 / length) - 1)
    x, y = axes
    base = _core.stack([x.unsqueeze(0).expand(h, w), y.unsqueeze(1).expand(h, w),
                        _core.ones((h, w), dtype=theta.dtype, device=theta.device)], -1)
    return (base.reshape(1, h * w, 3) @ theta.transpose(1, 2)).reshape(n, h, w, 2)


def _reflected(x, low, high):
    """Folded back into [low, high]."""
    if high == low:
        return x * 0.0
    span = high - low
    off = (x - low).abs()
    turns = (off / span).floor().detach()
    rest = off - turns * span
    odd = turns - 2 * (turns * 0.5).floor() == 1
    return where(odd, high - rest, rest + low)


def _coordinate(x, length, padding_mode, align_corners):
    """[-1, 1] as pixels."""
    x = (x + 1) * ((length - 1) / 2) if align_corners else ((x + 1) * length - 1) / 2
    if padding_mode == "reflection":
        x = _reflected(x, 0.0, float(length - 1)) if align_corners else \
            _reflected(x, -0.5, length - 0.5)
    return x if padding_mode == "zeros" else x.clamp(0, length - 1)


def _fetched(input, row, column):
    """input[n, :, row, column] for places [N, H', W'], zero outside: [N, C, H', W']."""
    n, c, h, w = input.shape
    inside = (row >= 0) & (row < h) & (column >= 0) & (column < w)
    place = (row.clamp(0, h - 1) * w + column.clamp(0, w - 1)).long()
    shape = place.shape
    place = place.reshape(n, 1, -1).expand(n, c, shape[1] * shape[2]).contiguous()
    found = input.reshape(n, c, h * w).gather(2, place).reshape(n, c, *shape[1:])
    return found * inside.to(input.dtype).unsqueeze(1)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Images [N, C, H, W] read at the places [N, H', W', 2] (x, y in [-1, 1])."""
    if input.ndim != 4 or grid.ndim != 4 or grid.size(-1) != 2:
        raise _core.UnsupportedError("grid_sample: images [N, C, H, W] and a grid [N, H', W', 2], "
                                     f"not {list(input.shape)} and {list(grid.shape)}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError("padding_mode must be 'zeros', 'border' or 'reflection', not "
                         f"{padding_mode!r}")
    x = _coordinate(grid[..., 0], input.size(3), padding_mode, bool(align_corners))
    y = _coordinate(grid[..., 1], input.size(2), padding_mode, bool(align_corners))
    if mode == "nearest":
        return _fetched(input, y.detach().round(), x.detach().round())
    if mode != "bilinear":
        raise _core.UnsupportedError(f"grid_sample has the modes bilinear and nearest, not {mode}")
    left, top = x.detach().floor(), y.detach().floor()
    total = None
    for row, down in ((top, top + 1 - y), (top + 1, y - top)):
        for column, across in ((left, left + 1 - x), (left + 1, x - left)):
            part = _fetched(input, row, column) * (down * across).unsqueeze(1)
            total = part if total is None else total + part
    return total
