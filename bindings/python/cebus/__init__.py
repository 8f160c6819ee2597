"""cebus: tensors under a hard memory budget, with PyTorch's names.

    import cebus

    cebus.set_budget("2GiB")
    x = cebus.randn(64, 1024, requires_grad=True)
    (x @ x.T).relu().sum().backward()
    print(x.grad.shape, cebus.memory_allocated())

What does not fit is given up and rebuilt, bit for bit, before it is read. See README.md.
"""
from math import e, inf, nan, pi  # noqa: F401

from . import _core, autograd, hints, legacy, memory, methods, missing, printing, recording
from . import safetensors, serialization
from ._core import (  # noqa: F401
    DtypeError, Error, Event, HostMemoryError, InvalidArgumentError, OutOfMemoryError,
    OutOfRangeError, Runtime, ShapeError, Size, Tensor, UnsupportedError, arange, as_tensor,
    bfloat16, cat, configure, device, devices, dtype, empty, exports, features, float16, float32,
    float64, from_dlpack, from_numpy, full, get_default_dtype, int32, int64, is_grad_enabled,
    layouts, machines, ones, policies, promote_types, result_type, runtime,
    set_default_device, set_default_dtype, stack, tensor, uint8, where, zeros)
from ._core import bool_ as bool  # noqa: A004, F401
from .capturing import *  # noqa: F401, F403
from .grad_mode import (  # noqa: F401
    enable_grad, inference_mode, no_grad, set_grad_enabled)
from .hints import hint  # noqa: F401
from .memory import *  # noqa: F401, F403
from .planning import *  # noqa: F401, F403
from .recording import *  # noqa: F401, F403
from .printing import set_printoptions  # noqa: F401
from .serialization import load, save  # noqa: F401

__version__ = _core.version()

_core.install(printer=printing.printer, missing=missing.of_tensor,
              pickler=serialization.reduce_tensor, html=printing.html)
globals().update(methods.attach())
globals().update(legacy.attach(globals()))
autograd.attach()
hints.attach()

from . import amp, backends, cuda, linalg, nn, optim, special, utils  # noqa: E402, F401
from . import distributions  # noqa: E402, F401
from . import models  # noqa: E402, F401
from . import random  # noqa: E402, F401
from .amp.autocast_mode import (  # noqa: E402, F401
    autocast, get_autocast_cpu_dtype, get_autocast_gpu_dtype, is_autocast_cpu_enabled,
    is_autocast_enabled)
from .limits import can_cast, finfo, iinfo  # noqa: E402, F401
from .random import (  # noqa: E402, F401
    Generator, default_generator, get_rng_state, initial_seed, seed, set_rng_state)

# Functions of networks that are functions of the module, too.
OF_NETWORKS = (
    "adaptive_avg_pool1d alpha_dropout avg_pool1d bilinear celu celu_ "
    "channel_shuffle conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
    "cosine_similarity dropout feature_alpha_dropout hardshrink "
    "layer_norm max_pool1d "
    "max_pool1d_with_indices max_pool2d max_pool3d pairwise_distance pdist pixel_shuffle "
    "pixel_unshuffle prelu rrelu rrelu_ selu selu_ threshold threshold_ "
    "").split()
globals().update({name: getattr(nn.functional, name) for name in OF_NETWORKS})

float, double, half = float32, float64, float16  # noqa: A001
long, int, uint = int64, int32, uint8  # noqa: A001
contiguous_format, channels_last, preserve_format = "contiguous", "channels_last", "preserve"
strided = "strided"


def get_num_threads():
    """Threads that kernels may use: `configure("cpu", threads=)` before the first tensor."""
    return runtime().threads


def set_num_threads(threads):
    """Only before the first tensor: later it would change bits that are to be made again."""
    if threads != get_num_threads():
        raise Error("the number of threads is fixed once the device is in use: call "
                    "cebus.configure('cpu', threads=...) first")


def use_deterministic_algorithms(mode, warn_only=False):
    """Every algorithm is deterministic."""


def manual_seed(seed):  # noqa: F811
    """Starts the random numbers of every device anew; answers the default generator."""
    return default_generator.manual_seed(seed)


def set_default_tensor_type(t):
    """Floating-point tensors are made as this type, such as cebus.DoubleTensor."""
    name = t if isinstance(t, str) else t.__name__
    set_default_dtype(legacy.TYPED[name.split(".")[-1]])


def set_flush_denormal(mode):
    """False: denormal numbers are kept."""
    return False


def get_float32_matmul_precision():
    """Products of float32 are computed in float32."""
    return "highest"


def set_float32_matmul_precision(precision):
    """Taken; products of float32 stay exact to float32."""


def is_tensor(x):
    """Whether x is a tensor."""
    return isinstance(x, Tensor)


def typename(x):
    return x.type() if isinstance(x, Tensor) else type(x).__name__


def numel(x):
    return x.numel()


def __dir__():
    return sorted(set(globals()))


__getattr__ = missing.of_module("cebus", __dir__)
