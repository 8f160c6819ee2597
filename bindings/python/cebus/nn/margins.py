"""Losses that want classes apart by a margin, or several labels at once."""
from .. import _core
from .._core import where
from .losses import _reduce, legacy

__all__ = ["multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss",
           "triplet_margin_with_distance_loss"]


@legacy
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None,
                      reduction="mean"):
    """max(margin - x[target] + x[j], 0)^p, the mean over the other classes j."""
    alone = input.ndim == 1
    rows = input.unsqueeze(0) if alone else input
    if target.ndim > 1 or target.numel() != rows.size(0):
        raise _core.ShapeError(f"multi_margin_loss: targets of {tuple(target.shape)} for "
                               f"{tuple(input.shape)}")
    target = target.reshape(-1)
    right = rows.gather(1, target.unsqueeze(1))
    loss = (margin - right + rows).relu() ** p
    if weight is not None:
        loss = loss * weight[target].unsqueeze(1)
    classes = _core.arange(rows.size(1), device=rows.device)
    loss = where(classes == target.unsqueeze(1), 0.0, loss).sum(1) / rows.size(1)
    return _reduce(loss.squeeze(0) if alone else loss, reduction)


@legacy
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """max(1 - x[label] + x[j], 0), summed over labels and the classes j that are none; the labels
    of a row end at the first -1."""
    alone = input.ndim == 1
    rows, labels = (input.unsqueeze(0), target.unsqueeze(0)) if alone else (input, target)
    given = (labels < 0).long().cumsum(1) == 0
    place = where(given, labels, 0)
    among = _core.zeros(rows.shape, dtype=_core.int64, device=rows.device).scatter_add(
        1, place, given.long()) > 0
    right = rows.gather(1, place)
    each = (1 - right.unsqueeze(2) + rows.unsqueeze(1)).relu()
    kept = given.unsqueeze(2) & (~among).unsqueeze(1)
    loss = where(kept, each, 0.0).sum((1, 2)) / rows.size(1)
    return _reduce(loss.squeeze(0) if alone else loss, reduction)


@legacy
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None,
                                reduction="mean"):
    """The mean over the classes of their binary cross entropies with logits."""
    from .functional import logsigmoid
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    loss = loss if weight is None else loss * weight
    return _reduce(loss.mean(-1), reduction)


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None,
                                      margin=1.0, swap=False, reduction="mean"):
    """triplet_margin_loss with any distance."""
    from .functional import pairwise_distance
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return _reduce((near - far + margin).relu(), reduction)
