"""Convolution and pooling of volumes [N, C, D, H, W], composed of those of images: a convolution is
a sum over the kernel's depth, pooling is done over planes and then over depth."""
from .. import _core

__all__ = ["conv3d", "conv_transpose3d", "max_pool3d", "avg_pool3d", "adaptive_avg_pool3d",
           "adaptive_max_pool3d"]


def _triple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * 3


def _planes(x):
    """[N, C, D, H, W] as images [N D, C, H, W]."""
    n, c, d, h, w = x.shape
    return x.permute(0, 2, 1, 3, 4).reshape(n * d, c, h, w)


def _volume(images, n, depth):
    """Images [N D, C, H, W] as [N, C, D, H, W]."""
    return images.reshape(n, depth, *images.shape[1:]).permute(0, 2, 1, 3, 4)


def _check(name, x, weight=None):
    if x.ndim not in (4, 5) or (weight is not None and weight.ndim != 5):
        raise _core.ShapeError(f"{name}: expected a volume [N, C, D, H, W] or [C, D, H, W]"
                               + ("" if weight is None else " and a weight of 5 dimensions")
                               + f", got {list(x.shape)}")


def _positive(name, **options):
    for option, values in options.items():
        if min(values) <= 0:
            raise _core.InvalidArgumentError(f"{name}: {option} should be greater than zero, but "
                                             f"got {list(values)}")


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation: [N, C, D, H, W] with [O, C / groups, KD, KH, KW]."""
    _check("conv3d", input, weight)
    if input.ndim == 4:
        return conv3d(input.unsqueeze(0), weight, bias, stride, padding, dilation,
                      groups).squeeze(0)
    stride, dilation = _triple(stride), _triple(dilation)
    _positive("conv3d", stride=stride, dilation=dilation)
    more = (0, 0, 0)
    if isinstance(padding, str):
        from .functional import _same_padding
        padding, more = _same_padding(padding, weight.shape[2:], dilation, stride)
    padding = _triple(padding)
    x = _core.pad_constant(input, (0, more[2], 0, more[1], padding[0], padding[0] + more[0]), 0.0)
    depth = (x.size(2) - dilation[0] * (weight.size(2) - 1) - 1) // stride[0] + 1
    if depth <= 0:
        raise _core.ShapeError("conv3d: the kernel is deeper than the padded input: "
                               f"{weight.size(2)} and {x.size(2)}")
    total = None
    for k in range(weight.size(2)):
        first = k * dilation[0]
        part = x[:, :, first:first + stride[0] * (depth - 1) + 1:stride[0]]
        out = _core.conv2d(_planes(part), weight[:, :, k], bias if k == 0 else None, stride[1:],
                           padding[1:], dilation[1:], groups)
        total = out if total is None else total + out
    return _volume(total, x.size(0), depth)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1,
                     dilation=1):
    """The transpose of conv3d: weight [C, O / groups, KD, KH, KW]."""
    _check("conv_transpose3d", input, weight)
    if input.ndim == 4:
        return conv_transpose3d(input.unsqueeze(0), weight, bias, stride, padding, output_padding,
                                groups, dilation).squeeze(0)
    stride, padding, dilation = _triple(stride), _triple(padding), _triple(dilation)
    extra, n, depth = _triple(output_padding), input.size(0), input.size(2)
    _positive("conv_transpose3d", stride=stride, dilation=dilation)
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation)):
        raise _core.InvalidArgumentError("conv_transpose3d: output padding must be smaller than "
                                         f"either stride or dilation, but got {list(extra)}")
    spread = (depth - 1) * stride[0] + 1
    whole = spread + dilation[0] * (weight.size(2) - 1) + extra[0]
    total = None
    for k in range(weight.size(2)):
        out = _volume(_core.conv_transpose2d(_planes(input), weight[:, :, k], None, stride[1:],
                                             padding[1:], extra[1:], groups, dilation[1:]), n,
                      depth)
        first = k * dilation[0]
        out = _core.pad_constant(_apart(out, stride[0]),
                                 (0, 0, 0, 0, first, whole - spread - first), 0.0)
        total = out if total is None else total + out
    if whole <= 2 * padding[0]:
        raise _core.ShapeError(f"conv_transpose3d: of {whole} depths the padding takes "
                               f"{2 * padding[0]}: nothing is left")
    total = total.narrow(2, padding[0], whole - 2 * padding[0])
    return total if bias is None else total + bias.reshape(1, -1, 1, 1, 1)


def _apart(x, step):
    """Depths `step` apart, with zeros between."""
    if step == 1:
        return x
    n, c, d, h, w = x.shape
    wide = _core.pad_constant(x.unsqueeze(3), (0, 0, 0, 0, 0, step - 1), 0.0)
    return wide.reshape(n, c, d * step, h, w).narrow(2, 0, (d - 1) * step + 1)


# --- pooling ----------------------------------------------------------------------------------

def _over_depth(planes, pool, shape):
    """`pool` of the columns that lie behind one another: [N, C, D, H, W] of images [N C, D, ..]."""
    n, c, d = shape
    h, w = planes.shape[-2:]
    out = pool(planes.reshape(n * c, 1, d, h * w))
    return out.reshape(n, c, out.size(2), h, w)


def _pooled(input, planes, depths):
    if input.ndim == 4:
        return _pooled(input.unsqueeze(0), planes, depths).squeeze(0)
    n, c, d, h, w = input.shape
    return _over_depth(planes(input.reshape(n, c * d, h, w)), depths, (n, c, d))


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
               return_indices=False):
    """The largest element of each window."""
    _check("max_pool3d", input)
    if return_indices:
        raise _core.UnsupportedError("max_pool3d: indices are not answered")
    kernel, padding, dilation = _triple(kernel_size), _triple(padding), _triple(dilation)
    stride = kernel if stride is None or stride == [] else _triple(stride)
    return _pooled(
        input,
        lambda x: _core.pool2d(x, "max", kernel[1:], stride[1:], padding[1:], dilation[1:],
                               ceil_mode),
        lambda x: _core.pool2d(x, "max", (kernel[0], 1), (stride[0], 1), (padding[0], 0),
                               (dilation[0], 1), ceil_mode))


def avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode=False,
               count_include_pad=True, divisor_override=None):
    """The mean of each window."""
    from .functional import avg_pool2d
    _check("avg_pool3d", input)
    if divisor_override == 0:
        raise _core.InvalidArgumentError("avg_pool3d: divisor must be not zero")
    kernel, padding = _triple(kernel_size), _triple(padding)
    stride = kernel if stride is None else _triple(stride)
    count = kernel[1] * kernel[2] if divisor_override else None
    out = _pooled(
        input,
        lambda x: avg_pool2d(x, kernel[1:], stride[1:], padding[1:], ceil_mode,
                             count_include_pad, count),
        lambda x: avg_pool2d(x, (kernel[0], 1), (stride[0], 1), (padding[0], 0), ceil_mode,
                             count_include_pad, kernel[0] if divisor_override else None))
    return out * (kernel[0] * count / divisor_override) if divisor_override else out


def _target(input, output_size):
    return [length if wanted is None else wanted
            for wanted, length in zip(_triple(output_size), input.shape[-3:])]


def adaptive_avg_pool3d(input, output_size):
    """The mean of windows such that the result has the given size."""
    _check("adaptive_avg_pool3d", input)
    d, h, w = _target(input, output_size)
    return _pooled(input, lambda x: _core.adaptive_avg_pool2d(x, h, w),
                   lambda x: _core.adaptive_avg_pool2d(x, d, x.size(-1)))


def adaptive_max_pool3d(input, output_size, return_indices=False):
    """The largest of windows such that the result has the given size."""
    from .functional import adaptive_max_pool2d
    _check("adaptive_max_pool3d", input)
    if return_indices:
        raise _core.UnsupportedError("adaptive_max_pool3d: indices are not answered")
    d, h, w = _target(input, output_size)
    return _pooled(input, lambda x: adaptive_max_pool2d(x, (h, w)),
                   lambda x: adaptive_max_pool2d(x, (d, x.size(-1))))
