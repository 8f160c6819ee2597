"""Batches of datasets."""
from ... import _core
from ...random import Generator
from .dataset import IterableDataset, TensorDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler


def default_collate(items):
    """A list of items as one item of batches."""
    first = items[0]
    if isinstance(first, _core.Tensor):
        return _core.stack(items)
    if isinstance(first, dict):
        return {key: default_collate([item[key] for item in items]) for key in first}
    if isinstance(first, (tuple, list)) and any(len(item) != len(first) for item in items):
        raise _core.Error("each element in list of batch should be of equal size")
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(list(each)) for each in zip(*items)))
    if isinstance(first, (tuple, list)):
        return [default_collate(list(each)) for each in zip(*items)]
    if hasattr(first, "__array_interface__"):
        import numpy
        return _core.tensor(numpy.stack(items))
    if isinstance(first, (int, float)):
        # As in PyTorch: numbers of Python are doubles here.
        return _core.tensor(items, dtype=_core.float64 if isinstance(first, float) else None)
    if isinstance(first, (str, bytes)):
        return items
    raise TypeError("default_collate: batch must contain tensors, numpy arrays, numbers, dicts or "
                    f"lists; found {type(first)}")


def default_convert(item):
    """An item's arrays as tensors."""
    if isinstance(item, dict):
        return {key: default_convert(value) for key, value in item.items()}
    if isinstance(item, (tuple, list)):
        return type(item)(default_convert(each) for each in item)
    return _core.tensor(item) if hasattr(item, "__array_interface__") else item


def get_worker_info():
    """None: loading runs in the program itself."""


class DataLoader:
    """Batches of a dataset. `generator`: a Generator or a seed for the order; without one
    cebus.manual_seed() decides it. Workers are accepted and not started: loading runs here."""

    def __init__(self, dataset, batch_size=1, shuffle=False, sampler=None, batch_sampler=None,
                 num_workers=0, collate_fn=None, pin_memory=False, drop_last=False,
                 generator=None, **unused):
        if batch_size is not None and batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got {batch_size}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler or drop_last):
            raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, "
                             "sampler, and drop_last")
        self.num_workers, self.pin_memory = num_workers, pin_memory
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.collate_fn, self.batch_sampler = collate_fn, batch_sampler
        if isinstance(generator, int):
            generator = Generator().manual_seed(generator)
        self.iterable = isinstance(dataset, IterableDataset)
        if not self.iterable and sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle \
                else SequentialSampler(dataset)
        self.sampler = sampler

    def _groups(self):
        if self.batch_sampler is not None:
            yield from self.batch_sampler
            return
        indices = self.dataset if self.iterable else self.sampler
        yield from BatchSampler(indices, self.batch_size, self.drop_last)

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
