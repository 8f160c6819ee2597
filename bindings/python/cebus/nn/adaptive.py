"""Softmax over very many classes by clusters of their frequency (Grave et al. 2017)."""
import collections

from .. import _core
from . import functional as F
from .containers import ModuleList, Sequential
from .layers import Linear
from .module import Module

_Output = collections.namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Classes sorted by falling frequency. The head scores the most frequent ones and the clusters
    behind `cutoffs`; cluster i has classes [cutoffs[i], cutoffs[i + 1]) and features of width
    in_features / div_value ** (i + 1), so that rare classes cost little."""

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False,
                 device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (cutoffs != sorted(set(cutoffs)) or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1
                or any(int(each) != each for each in cutoffs)):
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in "
                             "an increasing order, where each value is between 1 and n_classes-1")
        self.in_features, self.n_classes, self.div_value = in_features, n_classes, div_value
        self.cutoffs, self.head_bias = cutoffs + [n_classes], head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        kind = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, head_bias, **kind)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(self._clusters()):
            width = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(Linear(in_features, width, False, **kind),
                                        Linear(width, high - low, False, **kind)))

    def _clusters(self):
        return list(zip(self.cutoffs, self.cutoffs[1:]))

    def reset_parameters(self):
        for each in self.modules():
            if isinstance(each, Linear):
                each.reset_parameters()

    def forward(self, input_, target_):
        """(log probability of each target, mean loss); input [N, in_features], target [N], or
        one of each. Reads the targets: only the clusters that they fall in are computed."""
        if target_.ndim not in (0, 1) or input_.ndim != target_.ndim + 1:
            raise _core.ShapeError("0D or 1D target expected, and an input of one dimension more")
        if not target_.ndim:
            out, loss = self(input_.unsqueeze(0), target_.unsqueeze(0))
            return _Output(out.squeeze(0), loss)
        if input_.size(0) != target_.size(0):
            raise _core.ShapeError("Input and target should have the same size in the batch "
                                   "dimension.")
        self._check_targets(target_)
        entry, within = target_, None
        for i, (low, high) in enumerate(self._clusters()):
            rows = ((target_ >= low) & (target_ < high)).nonzero().squeeze(1)
            if not rows.numel():
                continue
            entry = entry.index_fill(0, rows, self.shortlist_size + i)
            scores = F.log_softmax(self.tail[i](input_.index_select(0, rows)), 1)
            place = (target_.index_select(0, rows) - low).unsqueeze(1)
            if within is None:
                within = _core.zeros(target_.shape, dtype=scores.dtype, device=scores.device)
            within = within.index_copy(0, rows, scores.gather(1, place).squeeze(1))
        out = F.log_softmax(self.head(input_), 1).gather(1, entry.unsqueeze(1)).squeeze(1)
        out = out if within is None else out + within
        return _Output(out, -out.mean())

    def _check_targets(self, target):
        if target.numel() and not 0 <= int(target.min()) <= int(target.max()) < self.n_classes:
            raise _core.InvalidArgumentError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{int(target.min())}, {int(target.max())}] were found.")

    def log_prob(self, input):
        """Log probabilities of all classes: [N, n_classes]."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, :self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            at = self.shortlist_size + i
            parts.append(F.log_softmax(cluster(input), 1) + head[:, at:at + 1])
        return _core.cat(parts, 1)

    def predict(self, input):
        """The likeliest class of each row."""
        return self.log_prob(input).argmax(1)
