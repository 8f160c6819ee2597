"""Operations of networks under PyTorch's signatures."""
from .. import _core
from .._core import conv2d as _conv2d, layer_norm as _layer_norm
from .._core import batch_norm as _batch_norm, group_norm as _group_norm, rms_norm as _rms_norm
from .._core import gelu, linear, where  # noqa: F401
from ..elementwise import log1p, softplus  # noqa: F401
from ..grad_mode import no_grad
from ..shaping import broadcast_tensors
from .activations import *  # noqa: F401, F403
from .activations import _channels, _into
from .ctc import ctc_loss  # noqa: F401
from .losses import *  # noqa: F401, F403
from .margins import *  # noqa: F401, F403
from .places import *  # noqa: F401, F403
from .resizing import *  # noqa: F401, F403
from .volumes import *  # noqa: F401, F403


def _pair(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


# --- activations ------------------------------------------------------------------------------

def relu(input, inplace=False):
    """max(x, 0)"""
    return input.relu_() if inplace else _core.relu(input)


def relu6(input, inplace=False):
    return hardtanh(input, 0.0, 6.0, inplace)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x, or negative_slope x where x < 0."""
    return _into(input, _core.leaky_relu(input, negative_slope), inplace)


def prelu(input, weight):
    if weight.ndim > 1:
        raise _core.ShapeError("prelu: the weight is a number or a vector, not "
                               f"{tuple(weight.shape)}")
    shape = [1] * input.ndim
    if input.ndim > 1 and weight.numel() > 1:
        shape[1] = weight.numel()
    return where(input > 0, input, weight.reshape(shape if input.ndim else ()) * input)


def elu(input, alpha=1.0, inplace=False):
    """x, or alpha (e^x - 1) where x < 0."""
    return _into(input, input.relu() + alpha * input.clamp(max=0).expm1(), inplace)


def selu(input, inplace=False):
    """Klambauer et al. 2017."""
    return _into(input, 1.0507009873554804934 * elu(input, 1.6732632423543772848), inplace)


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
    """x between two bounds; at and beyond them it has no gradient, unlike that of clamp()."""
    return _into(input, _hardtanh(input, min_val, max_val), inplace)


def _hardtanh(input, low, high):
    if not input.is_floating_point() and input.dtype is not _core.bool_:
        low, high = int(low), int(high)  # whole numbers stay what they are
        if input.dtype is _core.uint8 and low < 0:
            raise _core.DtypeError("hardtanh: a uint8 cannot be below 0, so neither can min_val")
    if not input.requires_grad:
        return input.clamp(low, high)
    beyond = (input <= low) | (input >= high)
    return where(beyond, input.detach().clamp(low, high), input)


def hardsigmoid(input, inplace=False):
    return _into(input, _hardtanh(input + 3, 0.0, 6.0) / 6, inplace)


def hardswish(input, inplace=False):
    return _into(input, input * ((input + 3).clamp(0, 6) / 6), inplace)


def silu(input, inplace=False):
    return _into(input, _core.silu(input), inplace)


def mish(input, inplace=False):
    return _into(input, input * softplus(input).tanh(), inplace)


def glu(input, dim=-1):
    if input.size(dim) % 2:
        raise _core.ShapeError(f"glu: halving dimension must be even, but dimension {dim} is size "
                               f"{input.size(dim)}")
    half = input.size(dim) // 2
    a, b = input.narrow(dim, 0, half), input.narrow(dim, half, half)
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
    return _into(input, _core.dropout(input, p, training), inplace)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Whole channels of [N, C, H, W] become zero."""
    return _into(input, _channels(input, p, training, 3), inplace)


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
    if input.ndim == 3:
        return conv_transpose2d(input.unsqueeze(0), weight, bias, stride, padding, output_padding,
                                groups, dilation).squeeze(0)
    return _core.conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups,
                                  dilation)


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1,
                     dilation=1):
    return conv_transpose2d(input.unsqueeze(-2), weight.unsqueeze(2), bias, (1, _one(stride)),
                            (0, _one(padding)), (0, _one(output_padding)), groups,
                            (1, _one(dilation))).squeeze(-2)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Windows as columns, by a convolution with unit kernels: [N, C KH KW, windows]."""
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise _core.ShapeError("unfold: images [N, C, H, W] or [C, H, W] that have pixels, not "
                               f"{list(input.shape)}")
    if input.ndim == 3:
        return unfold(input.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    kh, kw = _pair(kernel_size)
    channels = input.size(1)
    from ..creation import eye
    unit = eye(kh * kw, dtype=input.dtype, device=input.device).reshape(kh * kw, 1, kh, kw)
    out = _conv2d(input, unit.repeat(channels, 1, 1, 1), None, stride, padding, dilation, channels)
    return out.flatten(2)


# --- pooling and sizes ------------------------------------------------------------------------

def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
               return_indices=False):
    """The largest pixel of each window; on request where it is in the plane, too."""
    if return_indices:
        return max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    if input.ndim == 3:
        return max_pool2d(input.unsqueeze(0), kernel_size, stride, padding, dilation,
                          ceil_mode).squeeze(0)
    return _core.pool2d(input, "max", kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False,
               count_include_pad=True, divisor_override=None):
    """The mean of each window, or its sum divided by `divisor_override`."""
    if input.ndim == 3:
        return avg_pool2d(input.unsqueeze(0), kernel_size, stride, padding, ceil_mode,
                          count_include_pad, divisor_override).squeeze(0)
    if divisor_override is not None:
        if divisor_override == 0:
            raise _core.InvalidArgumentError("avg_pool2d: divisor must be not zero")
        return _summed(input, kernel_size, stride, padding, ceil_mode) / divisor_override
    return _core.pool2d(input, "avg", kernel_size, stride, padding, 1, ceil_mode,
                        count_include_pad)


def _summed(input, kernel_size, stride, padding, ceil_mode):
    """The sum of each window: of equal size, for zeros are laid around."""
    kernel, padding = _pair(kernel_size), _pair(padding)
    stride = kernel if stride is None else _pair(stride)
    shape = avg_pool2d(input.detach(), kernel, stride, padding, ceil_mode).shape
    more = [max((n - 1) * s + k - length - p, 0) for n, s, k, length, p in
            zip(shape[-2:], stride, kernel, input.shape[-2:], padding)]
    wide = _core.pad_constant(input, (padding[1], more[1], padding[0], more[0]), 0.0)
    return avg_pool2d(wide, kernel, stride) * (kernel[0] * kernel[1])


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
               return_indices=False):
    if return_indices:
        return max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
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


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The largest of windows such that the result has the given size."""
    if return_indices:
        raise _core.UnsupportedError("adaptive_max_pool2d: indices are not answered")
    if input.ndim not in (3, 4):
        raise _core.ShapeError(f"adaptive_max_pool2d: images [N, C, H, W] or [C, H, W], not "
                               f"{list(input.shape)}")
    height, width = _target(input, output_size)
    h, w = input.size(-2), input.size(-1)
    if h % height == 0 and w % width == 0:
        return max_pool2d(input, (h // height, w // width))
    rows = [input[..., i * h // height:-(-(i + 1) * h // height), :] for i in range(height)]
    parts = [[row[..., j * w // width:-(-(j + 1) * w // width)] for j in range(width)]
             for row in rows]
    return _core.stack([_core.stack([each.flatten(-2).max(-1)[0] for each in row], -1)
                        for row in parts], -2)  # of equal elements the first has the gradient


def pad(input, pad, mode="constant", value=0.0):
    """A border: of a value, of reflected or repeated elements, or from the other end."""
    if mode == "constant":
        return _core.pad_constant(input, pad, float(value or 0.0))
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if input.ndim - len(pad) // 2 not in (1, 2):
        raise NotImplementedError(f"pad: mode {mode!r} pads all dimensions but the first or the "
                                  f"first two, not {len(pad) // 2} of {input.ndim}")
    for i in range(len(pad) // 2):
        dim, before, after = input.ndim - 1 - i, pad[2 * i], pad[2 * i + 1]
        most = {"reflect": input.size(dim) - 1, "circular": input.size(dim)}.get(mode)
        if most is not None and max(before, after) > most:
            raise _core.ShapeError(f"pad: {before} before and {after} after dimension {dim}, of "
                                   f"length {input.size(dim)}: mode {mode!r} allows {most}")
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
    """Channels as the pixels of larger images (Shi et al. 2016)."""
    *lead, c, h, w = input.shape
    r = upscale_factor
    if r <= 0:
        raise _core.InvalidArgumentError("pixel_shuffle expects a positive upscale_factor, but "
                                         f"got {r}")
    if c % (r * r):
        raise _core.ShapeError(f"pixel_shuffle expects its input's 'channel' dimension to be "
                               f"divisible by the square of upscale_factor, but {c} is not "
                               f"divisible by {r * r}")
    x = input.reshape(-1, c // (r * r), r, r, h, w).permute(0, 1, 4, 2, 5, 3)
    return x.reshape(*lead, c // (r * r), h * r, w * r)


# --- normalization ----------------------------------------------------------------------------

def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False,
               momentum=0.1, eps=1e-5):
    """Normalizes each channel over the batch."""
    return _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def _normalized(input, normalized_shape):
    """How many dimensions are normalized over: those of `normalized_shape`, the last."""
    shape = tuple(normalized_shape)
    if not shape or tuple(input.shape[-len(shape):]) != shape:
        raise _core.ShapeError(f"Given normalized_shape={list(shape)}, expected input with shape "
                               f"[*, {', '.join(map(str, shape))}], but got input of size "
                               f"{list(input.shape)}")
    return len(shape)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Normalizes each sample over the last dimensions."""
    return _layer_norm(input, _normalized(input, normalized_shape), weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """As layer_norm, without taking the mean away; `eps` is by default that of the type."""
    if eps is None:
        eps = 2.0 ** (-52 if input.dtype is _core.float64 else -23)
    return _rms_norm(input, _normalized(input, normalized_shape), weight, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    return _group_norm(input, num_groups, weight, bias, eps)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None,
                  use_input_stats=True, momentum=0.1, eps=1e-5):
    """Normalizes each channel of each sample; without `use_input_stats` by the running ones."""
    if not use_input_stats:
        return _batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if running_mean is not None:
        with no_grad():
            dims = tuple(range(2, input.ndim))
            running_mean.lerp_(input.mean(dims).mean(0), momentum)
            running_var.lerp_(input.var(dims).mean(0), momentum)
    return _group_norm(input, input.size(1), weight, bias, eps)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Divides by a power of the squares of neighbouring channels (Krizhevsky et al. 2012)."""
    if size <= 0:
        raise _core.InvalidArgumentError(f"local_response_norm: size is {size}: it must be "
                                         "positive")
    around = (0, 0) * (input.ndim - 2) + (size // 2, (size - 1) // 2)
    squares = _core.pad_constant(input * input, around, 0.0)
    total = squares.narrow(1, 0, input.size(1))
    for i in range(1, size):
        total = total + squares.narrow(1, i, input.size(1))
    return input / (total * (alpha / size) + k) ** beta


# --- positions --------------------------------------------------------------------------------

def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0,
              scale_grad_by_freq=False, sparse=False):
    """Rows of a table. `max_norm`: rows that are longer are shortened, in the table."""
    if padding_idx is not None and padding_idx < 0:
        padding_idx += weight.size(0)
    if max_norm is not None:
        with no_grad():
            used = input.reshape(-1).unique()
            weight[used] = weight[used].renorm(norm_type, 0, max_norm)
    rows = _core.embedding(input, weight, padding_idx)
    if not scale_grad_by_freq:
        return rows
    share = 1 / input.reshape(-1).bincount().to(rows.dtype)[input].unsqueeze(-1)
    return rows * share + (rows * (1 - share)).detach()


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2,
                  scale_grad_by_freq=False, mode="mean", sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=None):
    """Sums, means or maxima of rows of a table: bags [B, N], or [N] that begin at `offsets`."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum or mean or max, not {mode!r}")
    if input.ndim == 2:
        bags, length = input.shape
        starts = list(range(0, bags * length, length)) if length else [0] * bags
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    else:
        if offsets is None or offsets.ndim != 1:
            raise ValueError("embedding_bag: offsets has to be a vector, beside indices that are "
                             "one")
        starts = offsets.tolist()
        starts = starts[:-1] if include_last_offset else starts
    rows = embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    ends = starts[1:] + [input.size(0)]
    kept = input.tolist() if padding_idx is not None else None
    places = [[i for i in range(a, b) if kept is None or kept[i] != padding_idx]
              for a, b in zip(starts, ends)]
    return _bagged(rows, places, mode)


def _bagged(rows, places, mode):
    """Rows joined bag by bag; `places` are those of each bag. An empty bag is zero."""
    if mode == "max":
        return _core.stack([rows[_core.tensor(bag)].amax(0) if bag else
                            rows.new_zeros(rows.size(1)) for bag in places])
    number = [k for k, bag in enumerate(places) for _ in bag]
    taken = _core.tensor([i for bag in places for i in bag], dtype=_core.int64, device=rows.device)
    sums = rows.new_zeros(len(places), rows.size(1)).index_add(
        0, _core.tensor(number, dtype=_core.int64, device=rows.device),
        rows.index_select(0, taken))
    if mode == "sum":
        return sums
    counts = [[max(len(bag), 1)] for bag in places]
    return sums / _core.tensor(counts, dtype=rows.dtype, device=rows.device)


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
                           scale)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    x1, x2 = broadcast_tensors(x1, x2)
    return (x1 * x2).sum(dim) / (x1.norm(2, dim) * x2.norm(2, dim)).clamp(min=eps)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def pdist(input, p=2.0):
    """Distances of all pairs of rows, each pair once."""
    if input.ndim != 2:
        raise _core.ShapeError(f"pdist: rows of a matrix, not the shape {tuple(input.shape)}")
    n = input.size(0)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    index = _core.tensor(pairs, dtype=_core.int64, device=input.device).reshape(-1, 2)
    return (input.index_select(0, index[:, 0]) - input.index_select(0, index[:, 1])).norm(p, -1)
