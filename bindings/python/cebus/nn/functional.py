"""Operations of networks under PyTorch's signatures."""
from .. import _core
from .._core import conv2d as _conv2d, layer_norm as _layer_norm
from .._core import batch_norm as _batch_norm, group_norm as _group_norm, rms_norm as _rms_norm
from .._core import gelu, linear, silu  # noqa: F401
from ..elementwise import log1p, softplus  # noqa: F401
from .losses import *  # noqa: F401, F403


def _pair(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


# --- activations ------------------------------------------------------------------------------

def relu(input, inplace=False):
    """max(x, 0)"""
    return input.relu_() if inplace else _core.relu(input)


def relu6(input, inplace=False):
    return input.clamp(0, 6)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x, or negative_slope x where x < 0."""
    return input.relu() - negative_slope * (-input).relu()


def prelu(input, weight):
    shape = [1] * input.ndim
    if input.ndim > 1 and weight.numel() > 1:
        shape[1] = weight.numel()
    return input.relu() - weight.reshape(shape if input.ndim else ()) * (-input).relu()


def elu(input, alpha=1.0, inplace=False):
    """x, or alpha (e^x - 1) where x < 0."""
    return input.relu() + alpha * input.clamp(max=0).expm1()


def selu(input, inplace=False):
    """Klambauer et al. 2017."""
    return 1.0507009873554804934 * elu(input, 1.6732632423543772848)


def sigmoid(input):
    return input.sigmoid()


def tanh(input):
    return input.tanh()


def logsigmoid(input):
    return -softplus(-input)


def softsign(input):
    return input / (1 + input.abs())


def tanhshrink(input):
    return input - input.tanh()


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    return input.clamp(min_val, max_val)


def hardsigmoid(input, inplace=False):
    return (input + 3).clamp(0, 6) / 6


def hardswish(input, inplace=False):
    return input * hardsigmoid(input)


def mish(input, inplace=False):
    return input * softplus(input).tanh()


def glu(input, dim=-1):
    a, b = input.chunk(2, dim)
    return a * b.sigmoid()


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    return input.softmax(_softmax_dim(input, dim), dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    return input.log_softmax(_softmax_dim(input, dim), dtype)


def softmin(input, dim=None, dtype=None):
    return (-input).softmax(_softmax_dim(input, dim), dtype)


def _softmax_dim(x, dim):
    return dim if dim is not None else 0 if x.ndim in (0, 1, 3) else 1


def gumbel_softmax(logits, tau=1, hard=False, dim=-1):
    """A sample from a distribution over classes, with gradients (Jang et al. 2017)."""
    noise = -_exponential(logits).log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.argmax(dim, keepdim=True)
    picked = _core.zeros(soft.shape, dtype=soft.dtype, device=soft.device).scatter(
        dim, index, value=1.0)
    return picked - soft.detach() + soft


def _exponential(x):
    return _core.empty(x.shape, dtype=x.dtype, device=x.device).exponential_()


def normalize(input, p=2.0, dim=1, eps=1e-12):
    return input / input.norm(p, dim, True).clamp(min=eps).expand_as(input)


def dropout(input, p=0.5, training=True, inplace=False):
    """Zero with probability p, else scaled by 1 / (1 - p)."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return _core.dropout(input, p, training)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Whole channels become zero."""
    if not training or p == 0:
        return input
    mask = _core.ones(tuple(input.shape[:2]) + (1,) * (input.ndim - 2), dtype=input.dtype,
                      device=input.device)
    return input * dropout(mask, p)


# --- products, convolutions -------------------------------------------------------------------

def bilinear(input1, input2, weight, bias=None):
    out = _core_einsum("...i,oij,...j->...o", input1, weight, input2)
    return out if bias is None else out + bias


def _core_einsum(*arguments):
    from ..products import einsum
    return einsum(*arguments)


def _same_padding(padding, kernel, dilation, stride):
    """Widths for "same" and "valid"; the extra one at the end is returned apart."""
    if padding == "valid":
        return (0,) * len(kernel), (0,) * len(kernel)
    if padding != "same":
        raise ValueError(f"Invalid padding string {padding!r}, should be one of 'valid', 'same'")
    if any(step != 1 for step in stride):
        raise ValueError("padding='same' is not supported for strided convolutions")
    whole = [d * (k - 1) for k, d in zip(kernel, dilation)]
    return tuple(n // 2 for n in whole), tuple(n % 2 for n in whole)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation: [N, C, H, W] with [O, C / groups, KH, KW]."""
    if input.ndim == 3:
        return conv2d(input.unsqueeze(0), weight, bias, stride, padding, dilation,
                      groups).squeeze(0)
    if isinstance(padding, str):
        padding, more = _same_padding(padding, weight.shape[2:], _pair(dilation), _pair(stride))
        if any(more):
            input = _core.pad_constant(input, (0, more[1], 0, more[0]), 0.0)
    return _conv2d(input, weight, bias, stride, padding, dilation, groups)


def _one(value):
    return value[0] if isinstance(value, (tuple, list)) else value


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation over one dimension: images one pixel high."""
    if input.ndim == 2:
        return conv1d(input.unsqueeze(0), weight, bias, stride, padding, dilation,
                      groups).squeeze(0)
    if not isinstance(padding, str):
        padding = (0, _one(padding))
    return conv2d(input.unsqueeze(2), weight.unsqueeze(2), bias, (1, _one(stride)), padding,
                  (1, _one(dilation)), groups).squeeze(2)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1,
                     dilation=1):
    """The transpose of conv2d."""
    return _core.conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups,
                                  dilation)


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1,
                     dilation=1):
    return conv_transpose2d(input.unsqueeze(2), weight.unsqueeze(2), bias, (1, _one(stride)),
                            (0, _one(padding)), (0, _one(output_padding)), groups,
                            (1, _one(dilation))).squeeze(2)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Windows as columns, by a convolution with unit kernels: [N, C KH KW, windows]."""
    kh, kw = _pair(kernel_size)
    channels = input.size(1)
    from ..creation import eye
    unit = eye(kh * kw, dtype=input.dtype, device=input.device).reshape(kh * kw, 1, kh, kw)
    out = _conv2d(input, unit.repeat(channels, 1, 1, 1), None, stride, padding, dilation, channels)
    return out.flatten(2)


# --- pooling and sizes ------------------------------------------------------------------------

def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
               return_indices=False):
    """The largest pixel of each window."""
    if return_indices:
        raise _core.UnsupportedError("max_pool2d: indices are not answered")
    if input.ndim == 3:
        return max_pool2d(input.unsqueeze(0), kernel_size, stride, padding, dilation,
                          ceil_mode).squeeze(0)
    return _core.pool2d(input, "max", kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False,
               count_include_pad=True):
    """The mean of each window."""
    if input.ndim == 3:
        return avg_pool2d(input.unsqueeze(0), kernel_size, stride, padding, ceil_mode,
                          count_include_pad).squeeze(0)
    return _core.pool2d(input, "avg", kernel_size, stride, padding, 1, ceil_mode,
                        count_include_pad)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    stride = kernel_size if stride is None else stride
    return max_pool2d(input.unsqueeze(-2), (1, _one(kernel_size)), (1, _one(stride)),
                      (0, _one(padding)), (1, _one(dilation)), ceil_mode).squeeze(-2)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False,
               count_include_pad=True):
    stride = kernel_size if stride is None else stride
    return avg_pool2d(input.unsqueeze(-2), (1, _one(kernel_size)), (1, _one(stride)),
                      (0, _one(padding)), ceil_mode, count_include_pad).squeeze(-2)


def _target(input, output_size):
    height, width = _pair(output_size)
    return (input.size(-2) if height is None else height,
            input.size(-1) if width is None else width)


def adaptive_avg_pool2d(input, output_size):
    """The mean of windows such that the result has the given size."""
    if input.ndim == 3:
        return adaptive_avg_pool2d(input.unsqueeze(0), output_size).squeeze(0)
    return _core.adaptive_avg_pool2d(input, *_target(input, output_size))


def adaptive_avg_pool1d(input, output_size):
    return adaptive_avg_pool2d(input.unsqueeze(-2), (1, _one(output_size))).squeeze(-2)


def adaptive_max_pool2d(input, output_size):
    """The largest of windows such that the result has the given size."""
    height, width = _target(input, output_size)
    h, w = input.size(-2), input.size(-1)
    if h % height == 0 and w % width == 0:
        return max_pool2d(input, (h // height, w // width))
    rows = [input[..., i * h // height:-(-(i + 1) * h // height), :] for i in range(height)]
    return _core.stack([_core.stack(
        [row[..., j * w // width:-(-(j + 1) * w // width)].amax((-2, -1)) for j in range(width)],
        -1) for row in rows], -2)


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None,
                recompute_scale_factor=None, antialias=False):
    """Images made larger or smaller: nearest or bilinear."""
    if antialias:
        raise _core.UnsupportedError("interpolate: antialias is not there")
    if input.ndim == 3:
        wide = None if size is None else (1, _one(size))
        factor = None if scale_factor is None else (1.0, float(_one(scale_factor)))
        kind = "bilinear" if mode == "linear" else mode
        return _core.interpolate2d(input.unsqueeze(2), wide, factor, kind,
                                   bool(align_corners)).squeeze(2)
    return _core.interpolate2d(input, size, scale_factor, mode, bool(align_corners))


def pad(input, pad, mode="constant", value=0.0):
    """A border: of a value, of reflected or repeated elements, or from the other end."""
    if mode == "constant":
        return _core.pad_constant(input, pad, float(value or 0.0))
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    for i in range(len(pad) // 2):
        dim, before, after = input.ndim - 1 - i, pad[2 * i], pad[2 * i + 1]
        places = [_fold(j, input.size(dim), mode) for j in range(-before, input.size(dim) + after)]
        input = input.index_select(dim, _core.tensor(places, device=input.device))
    return input


def _fold(j, length, mode):
    if mode == "circular":
        return j % length
    if mode == "replicate":
        return min(max(j, 0), length - 1)
    return -j if j < 0 else 2 * (length - 1) - j if j >= length else j


def pixel_shuffle(input, upscale_factor):
    n, c, h, w = input.shape
    r = upscale_factor
    return input.reshape(n, c // (r * r), r, r, h, w).permute(0, 1, 4, 2, 5, 3).reshape(
        n, c // (r * r), h * r, w * r)


# --- normalization ----------------------------------------------------------------------------

def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False,
               momentum=0.1, eps=1e-5):
    """Normalizes each channel over the batch."""
    return _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Normalizes each sample over the last dimensions."""
    shape = tuple(normalized_shape)
    if tuple(input.shape[input.ndim - len(shape):]) != shape:
        raise _core.ShapeError(f"Given normalized_shape={list(shape)}, expected input with shape "
                               f"[*, {', '.join(map(str, shape))}], but got input of size "
                               f"{list(input.shape)}")
    return _layer_norm(input, len(shape), weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    return _rms_norm(input, len(tuple(normalized_shape)), weight,
                     1.1920928955078125e-07 if eps is None else eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    return _group_norm(input, num_groups, weight, bias, eps)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None,
                  use_input_stats=True, momentum=0.1, eps=1e-5):
    """Normalizes each channel of each sample."""
    return _group_norm(input, input.size(1), weight, bias, eps)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Divides by a power of the squares of neighbouring channels (Krizhevsky et al. 2012)."""
    squares = _core.pad_constant((input * input).unsqueeze(1),
                                 (0, 0, 0, 0, size // 2, (size - 1) // 2), 0.0).squeeze(1)
    total = squares.narrow(1, 0, input.size(1))
    for i in range(1, size):
        total = total + squares.narrow(1, i, input.size(1))
    return input / (total * (alpha / size) + k) ** beta


# --- positions --------------------------------------------------------------------------------

def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0,
              scale_grad_by_freq=False, sparse=False):
    """Rows of a table."""
    if max_norm is not None or scale_grad_by_freq:
        raise _core.UnsupportedError("embedding: max_norm and scale_grad_by_freq are not there")
    return _core.embedding(input, weight, padding_idx)


def one_hot(tensor, num_classes=-1):
    """Vectors with a single 1: [..., num_classes]."""
    if num_classes < 0:
        num_classes = int(tensor.max()) + 1
    if tensor.numel() and (int(tensor.max()) >= num_classes or int(tensor.min()) < 0):
        raise _core.InvalidArgumentError("Class values must be in [0, num_classes).")
    return (tensor.unsqueeze(-1) == _core.arange(num_classes, device=tensor.device)).long()


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0,
                                 is_causal=False, scale=None):
    """softmax(scale q k^T + mask) v, without the scores ever being stored whole."""
    return _core.attention(query, key, value, attn_mask, dropout_p, is_causal,
                           0.0 if scale is None else scale)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    return (x1 * x2).sum(dim) / (x1.norm(2, dim) * x2.norm(2, dim)).clamp(min=eps)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    return (x1 - x2 + eps).norm(p, -1, keepdim)
