"""Models on several devices, under the names of torch.nn.parallel. cebus runs a model on one
device: DataParallel runs its module there."""
from .. import _core
from .module import Module

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


def _check(device_ids):
    if device_ids is not None and len(list(device_ids)) > 1:
        raise _core.UnsupportedError("DataParallel: a model runs on one device; leave device_ids "
                                     "out")


class DataParallel(Module):
    """The module itself, under the name `module`, on the one device it is on."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        _check(device_ids)
        self.module, self.dim = module, dim

    def forward(self, *inputs, **keywords):
        return self.module(*inputs, **keywords)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """module(inputs), on its device."""
    _check(device_ids)
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **(module_kwargs or {}))


class DistributedDataParallel:
    """Refused: cebus runs in one process, on one device."""

    def __init__(self, *arguments, **keywords):
        raise _core.UnsupportedError("DistributedDataParallel: cebus runs in one process, on one "
                                     "device; use the module itself")
