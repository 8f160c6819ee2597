"""Datasets and batches. Arrays stay on the host until their batch is asked for."""
import random

from .. import _core
from .samplers import (  # noqa: F401
    BatchSampler, Sampler, SubsetRandomSampler, WeightedRandomSampler)


class Generator:
    """A source of random orders, apart from that of the tensors."""

    def __init__(self, device="cpu"):
        self._random = random.Random(0)

    def manual_seed(self, seed):
        self._random.seed(seed)
        return self

    def order(self, n):
        """0 ... n - 1 in a random order."""
        order = list(range(n))
        self._random.shuffle(order)
        return order


class Dataset:
    """Items by number: __getitem__, __len__."""

    def __getitem__(self, index):
        raise NotImplementedError

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Items one after the other: __iter__."""

    def __iter__(self):
        raise NotImplementedError


class TensorDataset(Dataset):
    """Rows of tensors or arrays of one length. A batch is one read of each."""

    def __init__(self, *tensors):
        if len({len(each) for each in tensors}) != 1:
            raise ValueError("Size mismatch between tensors: "
                             + ", ".join(str(len(each)) for each in tensors))
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(each[index] for each in self.tensors)

    def __len__(self):
        return len(self.tensors[0])

    def batch(self, indices):
        """The rows of several indices, as tensors."""
        return tuple(each[indices] if isinstance(each, _core.Tensor)
                     else _core.tensor(each[indices]) for each in self.tensors)


class Subset(Dataset):
    """Some items of a dataset."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, list(indices)

    def __getitem__(self, index):
        return self.dataset[self.indices[index]]

    def __len__(self):
        return len(self.indices)


class ConcatDataset(Dataset):
    """Datasets one after the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)

    def __len__(self):
        return sum(len(each) for each in self.datasets)

    def __getitem__(self, index):
        if index < 0:
            index += len(self)
        for each in self.datasets:
            if index < len(each):
                return each[index]
            index -= len(each)
        raise IndexError("index out of range")


def random_split(dataset, lengths, generator=None):
    """Subsets of the given lengths (or shares that add up to 1), chosen at random."""
    n = len(dataset)
    if all(isinstance(each, float) for each in lengths) and abs(sum(lengths) - 1) < 1e-6:
        lengths = [int(n * share) for share in lengths]
        for i in range(n - sum(lengths)):
            lengths[i % len(lengths)] += 1
    if sum(lengths) != n:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order, at, parts = _order(n, generator), 0, []
    for length in lengths:
        parts.append(Subset(dataset, order[at:at + length]))
        at += length
    return parts


def _order(n, generator):
    if generator is None:
        # One number of the tensors' own source, so that manual_seed() decides the order.
        generator = Generator().manual_seed(int(_core.uniform((), dtype=_core.float64) * (1 << 52)))
    elif isinstance(generator, int):
        generator = Generator().manual_seed(generator)
    return generator.order(n)


class SequentialSampler:
    """0 ... n - 1."""

    def __init__(self, source):
        self.source = source

    def __iter__(self):
        return iter(range(len(self.source)))

    def __len__(self):
        return len(self.source)


class RandomSampler(SequentialSampler):
    """A random order, another each time."""

    def __init__(self, source, generator=None):
        super().__init__(source)
        self.generator = generator

    def __iter__(self):
        return iter(_order(len(self.source), self.generator))


def default_collate(items):
    """A list of items as one item of batches."""
    first = items[0]
    if isinstance(first, _core.Tensor):
        return _core.stack(items)
    if isinstance(first, dict):
        return {key: default_collate([item[key] for item in items]) for key in first}
    if isinstance(first, (tuple, list)):
        return [default_collate(list(each)) for each in zip(*items)]
    if hasattr(first, "__array_interface__"):
        import numpy
        return _core.tensor(numpy.stack(items))
    if isinstance(first, (int, float)):
        return _core.tensor(items)
    return items


class DataLoader:
    """Batches of a dataset. `generator`: a Generator or a seed for the order; without one
    cebus.manual_seed() decides it. Workers are accepted and not started: loading runs here."""

    def __init__(self, dataset, batch_size=1, shuffle=False, sampler=None, batch_sampler=None,
                 num_workers=0, collate_fn=None, pin_memory=False, drop_last=False,
                 generator=None, **unused):
        if batch_size is not None and batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got {batch_size}")
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.collate_fn, self.batch_sampler = collate_fn, batch_sampler
        if isinstance(generator, int):
            generator = Generator().manual_seed(generator)
        self.iterable = isinstance(dataset, IterableDataset)
        if not self.iterable and sampler is None:
            sampler = RandomSampler(dataset, generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler

    def _groups(self):
        if self.batch_sampler is not None:
            yield from self.batch_sampler
            return
        group = []
        for index in self.dataset if self.iterable else self.sampler:
            group.append(index)
            if len(group) == self.batch_size:
                yield group
                group = []
        if group and not self.drop_last:
            yield group

    def _load(self, group):
        if self.iterable:
            return (self.collate_fn or default_collate)(group)
        if self.collate_fn is None and isinstance(self.dataset, TensorDataset):
            return list(self.dataset.batch(group))
        return (self.collate_fn or default_collate)([self.dataset[i] for i in group])

    def __iter__(self):
        if self.batch_size is None and self.batch_sampler is None:
            return (self.dataset[i] for i in self.sampler) if not self.iterable \
                else iter(self.dataset)
        return (self._load(group) for group in self._groups())

    def __len__(self):
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
