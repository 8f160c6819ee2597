"""Layers with parameters: products, convolutions, tables, normalization."""
import math

from .. import _core
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


def _new(*shape, dtype=None, device=None):
    return Parameter(_core.empty(shape, dtype=dtype, device=device))


def _reset(weight, bias, fan_in):
    """PyTorch's first values: uniform within 1 / sqrt(fan_in)."""
    init.kaiming_uniform_(weight, math.sqrt(5))
    if bias is not None:
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        init.uniform_(bias, -bound, bound)


class Identity(Module):
    """x, whatever the arguments."""

    def __init__(self, *arguments, **keywords):
        super().__init__()

    def forward(self, x):
        return x


class Linear(Module):
    """x weight^T + bias: [.., in_features] to [.., out_features]."""

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = _new(out_features, in_features, dtype=dtype, device=device)
        self.register_parameter(
            "bias", _new(out_features, dtype=dtype, device=device) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        _reset(self.weight, self.bias, self.in_features)

    def forward(self, x):
        return _core.linear(x, self.weight, self.bias)

    def extra_repr(self):
        return (f"in_features={self.in_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}")


class Bilinear(Module):
    """x1^T weight x2 + bias."""

    def __init__(self, in1_features, in2_features, out_features, bias=True):
        super().__init__()
        self.weight = _new(out_features, in1_features, in2_features)
        self.register_parameter("bias", _new(out_features) if bias else None)
        bound = 1 / math.sqrt(in1_features)
        for each in self.parameters():
            init.uniform_(each, -bound, bound)

    def forward(self, x1, x2):
        return F.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self):
        out_features, in1_features, in2_features = self.weight.shape
        return (f"in1_features={in1_features}, in2_features={in2_features}, "
                f"out_features={out_features}, bias={self.bias is not None}")


class _Conv(Module):
    dims, transposed = 2, False

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1,
                 groups=1, bias=True, padding_mode="zeros", device=None, dtype=None):
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups or out_channels % groups:
            raise ValueError("in_channels and out_channels must be divisible by groups")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(f"padding_mode must be zeros, reflect, replicate or circular, not "
                             f"{padding_mode!r}")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = self._tuple(kernel_size), self._tuple(stride)
        self.padding = padding if isinstance(padding, str) else self._tuple(padding)
        self.dilation, self.padding_mode = self._tuple(dilation), padding_mode
        if padding == "same" and any(each != 1 for each in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        first, second = (in_channels, out_channels) if self.transposed \
            else (out_channels, in_channels)
        self.weight = _new(first, second // groups, *self.kernel_size, dtype=dtype, device=device)
        self.register_parameter(
            "bias", _new(out_channels, dtype=dtype, device=device) if bias else None)
        self.reset_parameters()

    def _tuple(self, value):
        return tuple(value) if isinstance(value, (tuple, list)) else (value,) * self.dims

    def reset_parameters(self):
        _reset(self.weight, self.bias, init._calculate_fan_in_and_fan_out(self.weight)[0])

    def _bordered(self, x):
        """x and the padding that is left to the convolution."""
        if self.padding_mode == "zeros":
            return x, self.padding
        if self.padding == "same":
            whole = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            widths = [n for each in reversed(whole) for n in (each // 2, each - each // 2)]
        else:
            padding = (0,) * self.dims if self.padding == "valid" else self.padding
            widths = [n for each in reversed(padding) for n in (each, each)]
        return F.pad(x, widths, self.padding_mode), (0,) * self.dims

    def extra_repr(self):
        text = (f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
                f"stride={self.stride}")
        for name, usual in (("padding", (0,) * self.dims), ("dilation", (1,) * self.dims),
                            ("groups", 1)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text if self.bias is not None else text + ", bias=False"


class Conv2d(_Conv):
    """Cross-correlation of images [N, C, H, W]."""

    def forward(self, x):
        x, padding = self._bordered(x)
        return F.conv2d(x, self.weight, self.bias, self.stride, padding, self.dilation,
                        self.groups)


class Conv1d(_Conv):
    """Cross-correlation of sequences [N, C, L]."""

    dims = 1

    def forward(self, x):
        x, padding = self._bordered(x)
        return F.conv1d(x, self.weight, self.bias, self.stride, padding, self.dilation,
                        self.groups)


class ConvTranspose2d(_Conv):
    """The transpose of Conv2d."""

    transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0,
                 output_padding=0, groups=1, bias=True, dilation=1, device=None, dtype=None):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                         bias, device=device, dtype=dtype)
        self.output_padding = self._tuple(output_padding)

    def _extra(self, x, output_size):
        """The output padding that makes the result as large as asked for."""
        if output_size is None:
            return self.output_padding
        sizes = list(output_size)[-self.dims:]
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in
                 zip(x.shape[-self.dims:], self.stride, self.padding, self.dilation,
                     self.kernel_size)]
        return tuple(want - have for want, have in zip(sizes, least))

    def forward(self, x, output_size=None):
        return F.conv_transpose2d(x, self.weight, self.bias, self.stride, self.padding,
                                  self._extra(x, output_size), self.groups, self.dilation)


class ConvTranspose1d(ConvTranspose2d):
    """The transpose of Conv1d."""

    dims = 1

    def forward(self, x, output_size=None):
        return F.conv_transpose1d(x, self.weight, self.bias, self.stride, self.padding,
                                  self._extra(x, output_size), self.groups, self.dilation)


class Conv3d(_Conv):
    """Cross-correlation of volumes [N, C, D, H, W]."""

    dims = 3

    def forward(self, x):
        x, padding = self._bordered(x)
        return F.conv3d(x, self.weight, self.bias, self.stride, padding, self.dilation,
                        self.groups)


class ConvTranspose3d(ConvTranspose2d):
    """The transpose of Conv3d."""

    dims = 3

    def forward(self, x, output_size=None):
        return F.conv_transpose3d(x, self.weight, self.bias, self.stride, self.padding,
                                  self._extra(x, output_size), self.groups, self.dilation)


class Embedding(Module):
    """Rows of a table: indices [..] to [.., embedding_dim]."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None,
                 norm_type=2.0, scale_grad_by_freq=False, sparse=False, _weight=None, device=None,
                 dtype=None):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.weight = _new(num_embeddings, embedding_dim, dtype=dtype, device=device)
        init.normal_(self.weight)
        if padding_idx is not None:
            self.weight.detach()[padding_idx] = 0.0

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, **options):
        out = cls(*embeddings.shape, padding_idx=padding_idx, **options)
        out.weight.detach().copy_(embeddings)
        return out.requires_grad_(not freeze)

    def forward(self, indices):
        return F.embedding(indices, self.weight, self.padding_idx, self.max_norm, self.norm_type,
                           self.scale_grad_by_freq)

    def extra_repr(self):
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        return text if self.padding_idx is None else text + f", padding_idx={self.padding_idx}"


class EmbeddingBag(Module):
    """Sums, means or maxima of rows of a table: bags [B, N], or [N] that begin at `offsets`."""

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0,
                 scale_grad_by_freq=False, mode="mean", sparse=False, _weight=None,
                 include_last_offset=False, padding_idx=None, device=None, dtype=None):
        super().__init__()
        if mode not in ("sum", "mean", "max"):
            raise ValueError(f"mode has to be one of sum or mean or max, not {mode!r}")
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.options = {"max_norm": max_norm, "norm_type": norm_type, "mode": mode,
                        "scale_grad_by_freq": scale_grad_by_freq, "padding_idx": padding_idx,
                        "include_last_offset": include_last_offset}
        self.weight = _new(num_embeddings, embedding_dim, dtype=dtype, device=device)
        init.normal_(self.weight)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, **options):
        out = cls(*embeddings.shape, **options)
        out.weight.detach().copy_(embeddings)
        return out.requires_grad_(not freeze)

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight, offsets, per_sample_weights=per_sample_weights,
                               **self.options)

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"


# --- normalization ----------------------------------------------------------------------------

class _BatchNorm(Module):
    """Normalizes each channel over the batch; in evaluation by the running statistics."""

    ndims = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True,
                 track_running_stats=True, device=None, dtype=None):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        kind = {"dtype": dtype, "device": device}
        for name, value in (("weight", 1.0), ("bias", 0.0)):
            self.register_parameter(name, init.constant_(_new(num_features, **kind), value)
                                    if affine else None)
        if track_running_stats:
            self.register_buffer("running_mean", _core.zeros(num_features, **kind))
            self.register_buffer("running_var", _core.ones(num_features, **kind))
            self.register_buffer("num_batches_tracked",
                                 _core.zeros((), dtype=_core.int64, device=device))
        else:
            self.running_mean = self.running_var = self.num_batches_tracked = None

    def forward(self, x):
        if x.ndim not in self.ndims:
            raise _core.ShapeError(f"expected {' or '.join(f'{n}D' for n in self.ndims)} input "
                                   f"(got {x.ndim}D input)")
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / int(self.num_batches_tracked)
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
                            self.training or not self.track_running_stats, momentum, self.eps)

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
                f"affine={self.affine}, track_running_stats={self.track_running_stats}")


class BatchNorm1d(_BatchNorm):
    """Of [N, C] or [N, C, L]."""

    ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Of [N, C, H, W]."""

    ndims = (4,)


class BatchNorm3d(_BatchNorm):
    """Of [N, C, D, H, W]."""

    ndims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Of [N, C, ...]: BatchNorm over the batches of all processes, of which cebus has one."""

    ndims = (2, 3, 4, 5)

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True,
                 track_running_stats=True, process_group=None, device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module with a SyncBatchNorm, with the same tensors, for each BatchNorm in it."""
        if isinstance(module, _BatchNorm):
            out = cls(module.num_features, module.eps, module.momentum, module.affine,
                      module.track_running_stats)
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(out, name, getattr(module, name))
            return out.train(module.training)
        for name, child in module.named_children():
            setattr(module, name, cls.convert_sync_batchnorm(child, process_group))
        return module


class LayerNorm(Module):
    """Normalizes each sample over its last dimensions."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True,
                 device=None, dtype=None):
        super().__init__()
        shape = normalized_shape if isinstance(normalized_shape, (tuple, list)) \
            else (normalized_shape,)
        self.normalized_shape, self.eps = tuple(shape), eps
        self.elementwise_affine = elementwise_affine
        kind = {"dtype": dtype, "device": device}
        self.register_parameter("weight", init.ones_(_new(*self.normalized_shape, **kind))
                                if elementwise_affine else None)
        self.register_parameter("bias", init.zeros_(_new(*self.normalized_shape, **kind))
                                if elementwise_affine and bias else None)

    def forward(self, x):
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (f"{self.normalized_shape}, eps={self.eps}, "
                f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}")


class RMSNorm(Module):
    """x / sqrt(mean(x^2) + eps) * weight (Zhang and Sennrich 2019)."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None,
                 dtype=None):
        super().__init__()
        shape = normalized_shape if isinstance(normalized_shape, (tuple, list)) \
            else (normalized_shape,)
        self.normalized_shape, self.eps = tuple(shape), eps
        self.register_parameter(
            "weight", init.ones_(_new(*self.normalized_shape, dtype=dtype, device=device))
            if elementwise_affine else None)

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return (f"{self.normalized_shape}, eps={self.eps}, "
                f"elementwise_affine={self.weight is not None}")


class GroupNorm(Module):
    """Normalizes groups of channels of each sample."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError("num_channels must be divisible by num_groups")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        kind = {"dtype": dtype, "device": device}
        self.register_parameter("weight",
                                init.ones_(_new(num_channels, **kind)) if affine else None)
        self.register_parameter("bias",
                                init.zeros_(_new(num_channels, **kind)) if affine else None)

    def forward(self, x):
        return F.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (f"{self.num_groups}, {self.num_channels}, eps={self.eps}, "
                f"affine={self.weight is not None}")


class _InstanceNorm(_BatchNorm):
    """Normalizes each channel of each sample."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False,
                 track_running_stats=False, device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, x):
        if x.ndim not in self.ndims:
            raise _core.ShapeError(f"expected {' or '.join(f'{n}D' for n in self.ndims)} input "
                                   f"(got {x.ndim}D input)")
        alone = x.ndim == self.ndims[0]
        out = F.instance_norm(x.unsqueeze(0) if alone else x, self.running_mean, self.running_var,
                              self.weight, self.bias,
                              self.training or not self.track_running_stats,
                              0.0 if self.momentum is None else self.momentum, self.eps)
        return out.squeeze(0) if alone else out


class InstanceNorm1d(_InstanceNorm):
    """Of [N, C, L] or [C, L]."""

    ndims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Of [N, C, H, W] or [C, H, W]."""

    ndims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Of [N, C, D, H, W] or [C, D, H, W]."""

    ndims = (4, 5)


class LocalResponseNorm(Module):
    """Divides by a power of the squares of neighbouring channels."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.arguments = (size, alpha, beta, k)

    def forward(self, x):
        return F.local_response_norm(x, *self.arguments)
