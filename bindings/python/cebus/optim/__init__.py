"""Optimizers, under PyTorch's names."""
from .. import missing
from . import lr_scheduler, swa_utils  # noqa: F401
from .adaptive import ASGD, Adadelta, Adamax, NAdam, RAdam, Rprop  # noqa: F401
from .algorithms import SGD, Adagrad, Adam, AdamW, RMSprop  # noqa: F401
from .lbfgs import LBFGS  # noqa: F401
from .optimizer import Optimizer  # noqa: F401


def __dir__():
    return sorted(set(globals()))


__getattr__ = missing.of_module("cebus.optim", __dir__)
