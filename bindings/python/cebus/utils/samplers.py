"""The order in which items are loaded (utils.data)."""
from .. import _core


class Sampler:
    """Base of orders: __iter__ gives indices, __len__ says how many."""

    def __init__(self, data_source=None):
        """`data_source` is for those who override this."""

    def __iter__(self):
        raise NotImplementedError


class SubsetRandomSampler(Sampler):
    """The given indices, in a random order."""

    def __init__(self, indices, generator=None):
        self.indices, self.generator = list(indices), generator

    def __iter__(self):
        from .data import _order
        return (self.indices[i] for i in _order(len(self.indices), self.generator))

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """`num_samples` indices, each as often as its weight says."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        weights = weights.tolist() if isinstance(weights, _core.Tensor) else list(weights)
        self.weights = _core.tensor([float(each) for each in weights])
        self.num_samples, self.replacement = num_samples, replacement

    def __iter__(self):
        return iter(self.weights.multinomial(self.num_samples, self.replacement).tolist())

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """The indices of another sampler in lists of `batch_size`."""

    def __init__(self, sampler, batch_size, drop_last):
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        group = []
        for index in self.sampler:
            group.append(index)
            if len(group) == self.batch_size:
                yield group
                group = []
        if group and not self.drop_last:
            yield group

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
