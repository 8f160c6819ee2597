"""Datasets and batches, under the names of torch.utils.data."""
from ... import missing
from . import dataloader, dataset, sampler  # noqa: F401
from .dataloader import (  # noqa: F401
    DataLoader, default_collate, default_convert, get_worker_info)
from .dataset import (  # noqa: F401
    ChainDataset, ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset, random_split)
from .sampler import (  # noqa: F401
    BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler,
    WeightedRandomSampler)


def __dir__():
    return sorted(set(globals()))


__getattr__ = missing.of_module("cebus.utils.data", __dir__)
