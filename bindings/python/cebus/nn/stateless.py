"""Layers without parameters: activations, dropout, pooling, sizes, losses. Each is a function of
nn.functional with its options kept; the class is made from the function's signature."""
import inspect

from .. import _core
from . import functional as F
from .module import Module
from .parameter import Parameter


# What is shown of a module beside what was given when it was made, as PyTorch shows it.
SHOWN = {name: ("p", "inplace") for name in (
    "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout")}
SHOWN.update({name: ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
              for name in ("MaxPool1d", "MaxPool2d", "MaxPool3d")})
SHOWN.update({name: ("kernel_size", "stride", "padding")
              for name in ("AvgPool1d", "AvgPool2d", "AvgPool3d")})
SHOWN.update(GELU=("approximate",), LeakyReLU=("negative_slope",), ELU=("alpha",), CELU=("alpha",),
             Hardtanh=("min_val", "max_val"), Softplus=("beta", "threshold"), GLU=("dim",))


class _Function(Module):
    """`function` applied with options, which are attributes: they may be changed later."""

    function, names, defaults = None, (), {}

    def __init__(self, *options, **keywords):
        super().__init__()
        given = dict(zip(self.names, options), **keywords)
        average, reduce = given.pop("size_average", None), given.pop("reduce", None)
        if "reduction" in self.names and (average is not None or reduce is not None):
            given["reduction"] = "none" if reduce is False else \
                "sum" if average is False else "mean"
        if len(options) > len(self.names) or set(given) - set(self.names):
            raise TypeError(f"{type(self).__name__}() takes {', '.join(self.names) or 'nothing'}; "
                            f"got {options} {keywords}")
        self.options = {**self.defaults, **given}
        self._given = tuple(given)
        if self.options.get("stride", 0) is None:  # of a pool
            self.options["stride"] = self.options["kernel_size"]
        for name, value in self.options.items():
            if isinstance(value, _core.Tensor):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def _options(self):
        return {name: getattr(self, name) for name in self.options}

    def forward(self, *inputs):
        return type(self).function(*inputs, **self._options())

    def extra_repr(self):
        names = dict.fromkeys((*SHOWN.get(type(self).__name__, ()), *self._given))
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in names)


class _Training(_Function):
    def forward(self, *inputs):
        return type(self).function(*inputs, training=self.training, **self._options())


def _make(name, function, base=_Function, tensors=1):
    """A class for a function whose first `tensors` parameters are its inputs."""
    options = list(inspect.signature(function).parameters.values())[tensors:]
    options = [each for each in options
               if each.name not in ("training", "_stacklevel", "size_average", "reduce")]
    return type(name, (base,), {"function": staticmethod(function),
                                "names": tuple(each.name for each in options),
                                "defaults": {each.name: each.default for each in options
                                             if each.default is not each.empty},
                                "__doc__": function.__doc__, "__module__": __name__})


_gelu = lambda input, approximate="none": F.gelu(input, approximate)  # noqa: E731
_upsample = lambda input, size=None, scale_factor=None, mode="nearest", align_corners=None: \
    F.interpolate(input, size, scale_factor, mode, align_corners)  # noqa: E731

ACTIVATIONS = {
    "ReLU": F.relu, "ReLU6": F.relu6, "LeakyReLU": F.leaky_relu, "ELU": F.elu, "SELU": F.selu,
    "GELU": _gelu, "SiLU": F.silu, "Sigmoid": F.sigmoid, "Tanh": F.tanh, "Softplus": F.softplus,
    "Softsign": F.softsign, "LogSigmoid": F.logsigmoid, "Tanhshrink": F.tanhshrink,
    "Hardtanh": F.hardtanh, "Hardsigmoid": F.hardsigmoid, "Hardswish": F.hardswish,
    "Mish": F.mish, "GLU": F.glu,
    "MaxPool1d": F.max_pool1d, "MaxPool2d": F.max_pool2d, "AvgPool1d": F.avg_pool1d,
    "AvgPool2d": F.avg_pool2d, "AdaptiveAvgPool1d": F.adaptive_avg_pool1d,
    "AdaptiveAvgPool2d": F.adaptive_avg_pool2d, "AdaptiveMaxPool2d": F.adaptive_max_pool2d,
    "Upsample": _upsample, "PixelShuffle": F.pixel_shuffle, "Unfold": F.unfold,
    "CELU": F.celu, "Hardshrink": F.hardshrink, "Softshrink": F.softshrink,
    "Threshold": F.threshold, "MaxPool3d": F.max_pool3d, "AvgPool3d": F.avg_pool3d,
    "AdaptiveAvgPool3d": F.adaptive_avg_pool3d, "AdaptiveMaxPool1d": F.adaptive_max_pool1d,
    "AdaptiveMaxPool3d": F.adaptive_max_pool3d, "LPPool1d": F.lp_pool1d, "LPPool2d": F.lp_pool2d,
    "Fold": F.fold, "PixelUnshuffle": F.pixel_unshuffle, "ChannelShuffle": F.channel_shuffle,
    "UpsamplingNearest2d": F.upsample_nearest, "UpsamplingBilinear2d": F.upsample_bilinear,
}
LOSSES = {
    "CrossEntropyLoss": F.cross_entropy, "NLLLoss": F.nll_loss, "MSELoss": F.mse_loss,
    "L1Loss": F.l1_loss, "SmoothL1Loss": F.smooth_l1_loss, "HuberLoss": F.huber_loss,
    "BCELoss": F.binary_cross_entropy, "BCEWithLogitsLoss": F.binary_cross_entropy_with_logits,
    "KLDivLoss": F.kl_div, "SoftMarginLoss": F.soft_margin_loss,
    "HingeEmbeddingLoss": F.hinge_embedding_loss, "PoissonNLLLoss": F.poisson_nll_loss,
    "CosineSimilarity": F.cosine_similarity, "PairwiseDistance": F.pairwise_distance,
    "MultiMarginLoss": F.multi_margin_loss, "MultiLabelMarginLoss": F.multilabel_margin_loss,
    "MultiLabelSoftMarginLoss": F.multilabel_soft_margin_loss, "NLLLoss2d": F.nll_loss,
}
THREE = {"CosineEmbeddingLoss": F.cosine_embedding_loss,
         "MarginRankingLoss": F.margin_ranking_loss, "TripletMarginLoss": F.triplet_margin_loss,
         "GaussianNLLLoss": F.gaussian_nll_loss,
         "TripletMarginWithDistanceLoss": F.triplet_margin_with_distance_loss}
FOUR = {"CTCLoss": F.ctc_loss}

for _name, _f in ACTIVATIONS.items():
    globals()[_name] = _make(_name, _f)
for _name, _f in LOSSES.items():
    globals()[_name] = _make(_name, _f, tensors=2)
for _name, _f in THREE.items():
    globals()[_name] = _make(_name, _f, tensors=3)
for _name, _f in FOUR.items():
    globals()[_name] = _make(_name, _f, tensors=4)
for _name, _f in {"Dropout": F.dropout, "Dropout1d": F.dropout1d, "Dropout2d": F.dropout2d,
                  "Dropout3d": F.dropout3d, "AlphaDropout": F.alpha_dropout, "RReLU": F.rrelu,
                  "FeatureAlphaDropout": F.feature_alpha_dropout}.items():
    globals()[_name] = _make(_name, _f, _Training)


class _Along(Module):
    """An activation along a dimension."""

    function = None

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return type(self).function(x, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmax(_Along):
    """exp(x) / sum(exp(x)) along `dim`."""

    function = staticmethod(F.softmax)


class LogSoftmax(_Along):
    """log(softmax(x)) along `dim`."""

    function = staticmethod(F.log_softmax)


class Softmin(_Along):
    """softmax(-x) along `dim`."""

    function = staticmethod(F.softmin)


class Softmax2d(Module):
    """Softmax over the channels of images."""

    def forward(self, x):
        return x.softmax(-3)


class PReLU(Module):
    """x, or weight x where x < 0; the weight is learned (He et al. 2015)."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(_core.full((num_parameters,), float(init), device=device,
                                           dtype=dtype))

    def forward(self, x):
        return F.prelu(x, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class Flatten(Module):
    """Dimensions start_dim to end_dim as one."""

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x):
        return x.flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension cut into several."""

    def __init__(self, dim, unflattened_size):
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, x):
        return x.unflatten(self.dim, self.unflattened_size)


class _Pad(Module):
    mode, dims, value = "constant", 2, 0.0

    def __init__(self, padding):
        super().__init__()
        self.padding = tuple(padding) if isinstance(padding, (tuple, list)) \
            else (padding,) * (2 * self.dims)

    def forward(self, x):
        return F.pad(x, self.padding, self.mode, self.value)

    def extra_repr(self):
        return f"{self.padding}"


class ConstantPad2d(_Pad):
    """A border of a value."""

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(ConstantPad2d):
    """A border of a value."""

    dims = 1


class ConstantPad3d(ConstantPad2d):
    """A border of a value."""

    dims = 3


class ZeroPad2d(_Pad):
    """A border of zeros."""


class ZeroPad1d(ZeroPad2d):
    """A border of zeros."""

    dims = 1


class ZeroPad3d(ZeroPad2d):
    """A border of zeros."""

    dims = 3


class ReflectionPad2d(_Pad):
    """A border of reflected pixels."""

    mode = "reflect"


class ReflectionPad1d(ReflectionPad2d):
    """A border of reflected elements."""

    dims = 1


class ReflectionPad3d(ReflectionPad2d):
    """A border of reflected elements."""

    dims = 3


class ReplicationPad2d(_Pad):
    """A border of the outermost pixels."""

    mode = "replicate"


class ReplicationPad1d(ReplicationPad2d):
    """A border of the outermost elements."""

    dims = 1


class ReplicationPad3d(ReplicationPad2d):
    """A border of the outermost elements."""

    dims = 3


class CircularPad2d(_Pad):
    """A border of the pixels from the other end."""

    mode = "circular"


class CircularPad1d(CircularPad2d):
    """A border of the elements from the other end."""

    dims = 1


class CircularPad3d(CircularPad2d):
    """A border of the elements from the other end."""

    dims = 3


class MaxUnpool2d(Module):
    """Each value at the place that MaxPool2d(return_indices=True) took it from."""

    function = staticmethod(F.max_unpool2d)

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, x, indices, output_size=None):
        return type(self).function(x, indices, self.kernel_size, self.stride, self.padding,
                                   output_size)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(MaxUnpool2d):
    """Each value at the place that MaxPool1d(return_indices=True) took it from."""

    function = staticmethod(F.max_unpool1d)


__all__ = [name for name, value in list(globals().items())
           if isinstance(value, type) and issubclass(value, Module)
           and not name.startswith("_") and name != "Module"]
