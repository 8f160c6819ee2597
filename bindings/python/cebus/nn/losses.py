"""Losses, as functions."""
import functools
import math

from .. import _core
from .._core import where
from ..elementwise import log1p

__all__ = ["cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
           "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div",
           "cosine_embedding_loss", "margin_ranking_loss", "hinge_embedding_loss",
           "triplet_margin_loss", "gaussian_nll_loss", "poisson_nll_loss", "soft_margin_loss"]


def legacy(function):
    """Takes size_average and reduce, too: PyTorch's former words for `reduction`. In a block of
    autocast losses read float32."""
    @functools.wraps(function)
    def loss(*arguments, size_average=None, reduce=None, **keywords):
        if size_average is not None or reduce is not None:
            keywords["reduction"] = "none" if reduce is False else \
                "sum" if size_average is False else "mean"
        return function(*map(_core._raised, arguments),
                        **{name: _core._raised(each) for name, each in keywords.items()})
    return loss


def _reduce(loss, reduction):
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


@legacy
def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None,
                  reduction="mean", label_smoothing=0.0):
    """-log softmax(logits)[target]: [N, C, ...] with classes [N, ...] or probabilities."""
    if not 0.0 <= label_smoothing <= 1.0:
        raise _core.InvalidArgumentError(f"cross_entropy: label_smoothing is {label_smoothing}: it "
                                         "must lie in [0, 1]")
    if target.is_floating_point():
        if ignore_index >= 0:
            raise _core.InvalidArgumentError("cross_entropy: ignore_index is not supported for "
                                             "floating point target")
        if target.shape != input.shape:
            raise _core.ShapeError(f"cross_entropy: probabilities have the shape of the scores, "
                                   f"{tuple(input.shape)}, not {tuple(target.shape)}; classes are "
                                   "whole numbers: target.long()")
        smooth = target * (1 - label_smoothing) + label_smoothing / input.size(_class_dim(input))
        scores = input.log_softmax(_class_dim(input)) * smooth
        if weight is not None:
            scores = scores * _per_class(weight, input)
        loss = -scores.sum(_class_dim(input))
        count = input.numel() // input.size(_class_dim(input))
        return loss.sum() / count if reduction == "mean" else _reduce(loss, reduction)
    if weight is None:
        return _core.class_loss(input, target, True, reduction, ignore_index, label_smoothing)
    scores = input.log_softmax(_class_dim(input))
    loss = _weighted(scores, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return loss
    # The other classes' part: all of them, weighted, over the same mean.
    known = target != ignore_index
    rest = -(scores * _per_class(weight, input)).sum(_class_dim(input)) * known.to(scores.dtype)
    if reduction == "mean":
        share = weight[where(known, target, 0)] * known.to(weight.dtype)
        rest = rest.sum() / share.sum()
    rest = rest if reduction == "mean" else _reduce(rest, reduction)
    part = label_smoothing / input.size(_class_dim(input))
    return (1 - label_smoothing) * loss + part * rest


@legacy
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None,
             reduction="mean"):
    """-x[target] of log-probabilities."""
    if weight is None:
        return _core.class_loss(input, target, False, reduction, ignore_index, 0.0)
    return _weighted(input, target, weight, ignore_index, reduction)


def _class_dim(x):
    return 0 if x.ndim == 1 else 1


def _per_class(weight, x):
    shape = [1] * x.ndim
    shape[_class_dim(x)] = weight.numel()
    return weight.reshape(shape)


def _weighted(scores, target, weight, ignore_index, reduction):
    """Classes that count differently: the mean is over the weights."""
    loss = _core.class_loss(scores, target, False, "none", ignore_index, 0.0)
    known = target != ignore_index
    share = weight[where(known, target, 0)] * known.to(weight.dtype)
    loss = loss * share
    return loss.sum() / share.sum() if reduction == "mean" else _reduce(loss, reduction)


@legacy
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """(x - target)^2"""
    if tuple(input.shape) != tuple(target.shape):
        from ..shaping import broadcast_tensors
        input, target = broadcast_tensors(input, target)
    kind = _core.promote_types(input.dtype, target.dtype)
    return _core.mse_loss(input.to(kind), target.to(kind), reduction)


@legacy
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """|x - target|"""
    return _reduce((input - target).abs(), reduction)


@legacy
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Square near zero, linear beyond beta (Girshick 2015)."""
    if beta < 0:
        raise _core.InvalidArgumentError(f"smooth_l1_loss: beta is {beta}: it must not be negative")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    d = (input - target).abs()
    return _reduce(where(d < beta, d * d * (0.5 / beta), d - 0.5 * beta), reduction)


@legacy
def huber_loss(input, target, reduction="mean", delta=1.0):
    if delta <= 0:
        raise _core.InvalidArgumentError(f"huber_loss: delta is {delta}: it must be positive")
    d = (input - target).abs()
    loss = where(d < delta, d * d * 0.5, (d - 0.5 * delta) * delta)
    return _reduce(loss.to(input.dtype) if input.is_floating_point() else loss, reduction)


@legacy
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None,
                         reduction="mean"):
    """-(target log x + (1 - target) log(1 - x)); logarithms are at least -100, as in PyTorch."""
    if tuple(input.shape) != tuple(target.shape):
        raise _core.ShapeError(f"Using a target size ({tuple(target.shape)}) that is different to "
                               f"the input size ({tuple(input.shape)}) is not allowed")
    x = input if target.requires_grad else input.detach()
    loss = -(target * x.log().clamp(min=-100) + (1 - target) * (1 - x).log().clamp(min=-100))
    if x is not input and input.requires_grad:
        # The gradient in one piece: through the logarithms it is 0 / 0 at 0 and at 1.
        least = 1e-12 if input.dtype is not _core.float16 else 2.0 ** -14
        slope = (x - target) / (x * (1 - x)).clamp(min=least)
        loss = loss + (input - x) * slope
    return _reduce(loss if weight is None else loss * weight, reduction)


@legacy
def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None,
                                     reduction="mean", pos_weight=None):
    """binary_cross_entropy(sigmoid(x), target) without its loss of digits."""
    if tuple(input.shape) != tuple(target.shape):
        raise _core.ShapeError(f"Target size ({tuple(target.shape)}) must be the same as input "
                               f"size ({tuple(input.shape)})")
    # Of equal operands each gets half of maximum()'s gradient: 1/2 at zero, as it should be.
    zero = _core.zeros((), dtype=input.dtype, device=input.device)
    tail = log1p((-input.abs()).exp()) + (-input).maximum(zero)
    if pos_weight is not None:
        tail = tail * (1 + (pos_weight - 1) * target)
    loss = (1 - target) * input + tail
    if weight is not None:
        loss = loss * weight
    return _reduce(loss.to(target.dtype) if target.is_floating_point() else loss, reduction)


@legacy
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target (log target - x), x being log-probabilities."""
    if log_target:
        loss = target.exp() * (target - input)
    else:
        loss = where(target > 0, target * (where(target > 0, target, 1.0).log() - input), 0.0)
    if reduction == "batchmean":
        return loss.sum() / (input.size(0) if input.ndim else 1)
    return _reduce(loss, reduction)


@legacy
def cosine_embedding_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None,
                          reduction="mean"):
    from .functional import cosine_similarity
    likeness = cosine_similarity(input1, input2, -1)
    return _reduce(where(target == 1, 1 - likeness, (likeness - margin).relu()), reduction)


@legacy
def margin_ranking_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None,
                        reduction="mean"):
    _same_ndim("margin_ranking_loss", input1, input2, target)
    return _reduce((margin - target * (input1 - input2)).relu(), reduction)


def _same_ndim(op, *tensors):
    if len({x.ndim for x in tensors}) > 1:
        raise _core.ShapeError(f"{op}: all tensors have as many dimensions, not the shapes "
                               + ", ".join(str(tuple(x.shape)) for x in tensors))


@legacy
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None,
                         reduction="mean"):
    return _reduce(where(target == 1, input, (margin - input).relu()), reduction)


@legacy
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False,
                        size_average=None, reduce=None, reduction="mean"):
    """max(|anchor - positive| - |anchor - negative| + margin, 0)"""
    from .functional import pairwise_distance
    _same_ndim("triplet_margin_loss", anchor, positive, negative)
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return _reduce((near - far + margin).relu(), reduction)


@legacy
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Of a normal distribution around `input`; `var` is of its shape, or one number a row."""
    if var.shape != input.shape and var.shape == input.shape[:-1]:
        var = var.unsqueeze(-1)
    if var.shape != input.shape and tuple(var.shape) != (*input.shape[:-1], 1):
        raise _core.ShapeError(f"gaussian_nll_loss: var is of incorrect size, {tuple(var.shape)} "
                               f"for {tuple(input.shape)}")
    if var.numel() and bool((var < 0).any()):
        raise _core.InvalidArgumentError("gaussian_nll_loss: var has negative entries")
    var = where(var < eps, eps, var)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    return _reduce(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@legacy
def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8,
                     reduce=None, reduction="mean"):
    """Of counts; `full` adds Stirling's approximation of log(target!)."""
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        big = where(target > 1, target, 1.0)
        more = big * big.log() - big + 0.5 * (2 * math.pi * big).log()
        loss = loss + where(target > 1, more, 0.0)
    return _reduce(loss, reduction)


@legacy
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    if input.shape != target.shape:
        raise _core.ShapeError(f"soft_margin_loss: a target of {tuple(target.shape)} for "
                               f"{tuple(input.shape)}")
    return _reduce(log1p((-target * input).exp()), reduction)
