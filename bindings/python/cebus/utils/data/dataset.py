"""Datasets. Arrays stay on the host until their batch is asked for."""
from ... import _core
from .sampler import _order


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

    def __add__(self, other):
        return ChainDataset([self, other])


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


class ChainDataset(IterableDataset):
    """Datasets of items one after the other, one after the other."""

    def __init__(self, datasets):
        self.datasets = datasets

    def __iter__(self):
        for each in self.datasets:
            yield from each

    def __len__(self):
        return sum(len(each) for each in self.datasets)
