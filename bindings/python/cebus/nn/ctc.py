"""The loss of labels whose places in a sequence are not known (Graves et al. 2006)."""
import math

from .. import _core
from .._core import Tensor, where
from .losses import _reduce, legacy

# A logarithm of nothing that may be subtracted from itself; what lies so low is reported as inf.
NOTHING = -1e30


def _padded(targets, lengths, blank):
    """[N, 2 S + 1] labels with blanks between, and around, them."""
    longest = max(lengths, default=0)
    if targets.ndim == 1:
        flat, rows, at = targets.tolist(), [], 0
        for length in lengths:
            rows.append(flat[at:at + length] + [blank] * (longest - length))
            at += length
    else:
        rows = [row[:length] + [blank] * (longest - length)
                for row, length in zip(targets.tolist(), lengths)]
    return [[blank] + [each for label in row for each in (label, blank)] for row in rows]


def _shifted(alpha, by):
    """alpha[:, s - by], nothing before the first."""
    n = alpha.size(1)
    if by >= n:
        return _core.full(alpha.shape, NOTHING, dtype=alpha.dtype, device=alpha.device)
    return _core.pad_constant(alpha.narrow(1, 0, n - by), (by, 0), NOTHING)


def _forward(log_probs, labels, lengths, blank):
    """log of the sums over all paths that end at each label: [N, 2 S + 1]."""
    states = labels.size(1)
    place = _core.arange(states, device=labels.device)
    # A label may follow the one before the blank unless it is the same.
    skips = _core.cat([labels.new_zeros(labels.size(0), min(2, states)).bool(),
                       (labels[:, 2:] != labels[:, :-2]) & (labels[:, 2:] != blank)], 1)
    first = log_probs[0].gather(1, labels)
    alpha = where(place < 2, first, NOTHING)
    for t in range(1, log_probs.size(0)):
        parts = _core.stack([alpha, _shifted(alpha, 1),
                             where(skips, _shifted(alpha, 2), NOTHING)])
        fresh = parts.logsumexp(0) + log_probs[t].gather(1, labels)
        alpha = where((lengths > t).unsqueeze(1), fresh.clamp(min=NOTHING), alpha)
    return alpha


@legacy
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean",
             zero_infinity=False):
    """-log of the probability of the labels: log_probs [T, N, C] (or [T, C]), targets [N, S] or all
    of them one after the other; `reduction` "mean" divides each by its count of labels first."""
    if log_probs.ndim == 2:
        loss = ctc_loss(log_probs.unsqueeze(1), targets.reshape(1, -1), _listed(input_lengths),
                        _listed(target_lengths), blank, "none", zero_infinity).squeeze(0)
        share = max(_listed(target_lengths)[0], 1)
        return loss / share if reduction == "mean" else loss
    inputs, counts = _listed(input_lengths), _listed(target_lengths)
    if len(inputs) != log_probs.size(1) or len(counts) != log_probs.size(1):
        raise _core.ShapeError(f"ctc_loss: {log_probs.size(1)} sequences, but {len(inputs)} input "
                               f"lengths and {len(counts)} target lengths")
    if max(inputs, default=0) > log_probs.size(0):
        raise _core.InvalidArgumentError(f"Expected input_lengths to have value at most "
                                         f"{log_probs.size(0)}, but got value {max(inputs)}")
    device = log_probs.device
    labels = _core.tensor(_padded(targets, counts, blank), dtype=_core.int64, device=device)
    alpha = _forward(log_probs, labels, _core.tensor(inputs, device=device), blank)
    last = _core.tensor([[2 * n, max(2 * n - 1, 0)] for n in counts], device=device)
    ends = alpha.gather(1, last)
    empty = _core.tensor([[False, n == 0] for n in counts], device=device)
    loss = -where(empty, NOTHING, ends).logsumexp(1)
    lost = loss.detach() > -NOTHING / 2
    loss = where(lost, 0.0 if zero_infinity else math.inf, loss)
    if reduction == "mean":
        return (loss / _core.tensor([max(n, 1) for n in counts], dtype=loss.dtype,
                                    device=device)).mean()
    return _reduce(loss, reduction)


def _listed(lengths):
    if isinstance(lengths, Tensor):
        return lengths.reshape(-1).tolist()
    return [int(each) for each in lengths] if isinstance(lengths, (tuple, list)) else [lengths]
