"""Networks that papers on memory measure, of the papers' sizes by default, and a bench for them."""
from .. import missing
from .bench import MODELS, Setup, bench, create, on_device, parameters  # noqa: F401
from .inception import NASNet, inceptionv3, inceptionv4  # noqa: F401
from .sequences import SequenceLSTM, TreeLSTM, Unrolled, complete_tree  # noqa: F401
from .swin import Swin  # noqa: F401
from .text import BERT, GPT  # noqa: F401
from .unet import UNet  # noqa: F401
from .vision import (  # noqa: F401
    MLP, VGG, DenseNet, LeNet, ResNet, resnet18, resnet50, resnet152, wide_resnet152)


def names():
    """What create() and bench() take."""
    return list(MODELS)


def __dir__():
    return sorted(set(globals()))


__getattr__ = missing.of_module("cebus.models", __dir__)
