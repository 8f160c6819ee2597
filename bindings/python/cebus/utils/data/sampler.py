"""The order in which items are loaded (utils.data)."""
from ... import _core
from ...random import Generator


class Sampler:
    """Base of orders: __iter__ gives indices, __len__ says how many."""

    def __init__(self, data_source=None):
        """`data_source` is for those who override this."""

    def __iter__(self):
        raise NotImplementedError


def _order(n, generator):
    if generator is None:
        # One number of the tensors' own source, so that manual_seed() decides the order.
        generator = Generator().manual_seed(int(_core.uniform((), dtype=_core.float64) * (1 << 52)))
    elif isinstance(generator, int):
        generator = Generator().manual_seed(generator)
    return generator.order(n)


class SequentialSampler(Sampler):
    """0 ... n - 1."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(SequentialSampler):
    """A random order, another each time."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        super().__init__(data_source)
        self.generator, self.replacement, self.num_samples = generator, replacement, num_samples

    def __iter__(self):
        n, left = len(self.data_source), len(self)
        while left > 0:
            order = self._draws(n, left) if self.replacement else _order(n, self.generator)
            yield from order[:left]
            left -= len(order)

    def _draws(self, n, count):
        from ...creation import randint
        generator = self.generator
        generator = Generator().manual_seed(generator) if isinstance(generator, int) else generator
        return randint(n, (count,), generator=generator).tolist()

    def __len__(self):
        return len(self.data_source) if self.num_samples is None else self.num_samples


class SubsetRandomSampler(Sampler):
    """The given indices, in a random order."""

    def __init__(self, indices, generator=None):
        self.indices, self.generator = list(indices), generator

    def __iter__(self):
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
