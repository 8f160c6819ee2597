"""Layers, losses and their containers, under PyTorch's names."""
from .. import missing
from . import functional, init, parallel, utils  # noqa: F401
from .adaptive import AdaptiveLogSoftmaxWithLoss  # noqa: F401
from .containers import (  # noqa: F401
    ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential)
from .layers import (  # noqa: F401
    BatchNorm1d, BatchNorm2d, BatchNorm3d, Bilinear, Conv1d, Conv2d, Conv3d, ConvTranspose1d,
    ConvTranspose2d, ConvTranspose3d, Embedding, EmbeddingBag, GroupNorm, Identity,
    InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, LayerNorm, Linear, LocalResponseNorm, RMSNorm,
    SyncBatchNorm)
from .lazy import *  # noqa: F401, F403
from .module import Module  # noqa: F401
from .parallel import DataParallel  # noqa: F401
from .parameter import Buffer, Parameter  # noqa: F401
from .recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell  # noqa: F401
from .stateless import *  # noqa: F401, F403
from .transformer import (  # noqa: F401
    MultiheadAttention, Transformer, TransformerDecoder, TransformerDecoderLayer,
    TransformerEncoder, TransformerEncoderLayer)
from . import modules  # noqa: E402, F401


def __dir__():
    return sorted(set(globals()))


__getattr__ = missing.of_module("cebus.nn", __dir__)
