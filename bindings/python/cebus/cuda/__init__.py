"""What programs ask of CUDA devices, under PyTorch's names. cebus has one: "cuda:0"."""
import os

from .. import _core, memory, missing, random
from .._core import OutOfMemoryError  # noqa: F401
from . import amp  # noqa: F401

DEVICE = "cuda:0"


def is_available():
    """Whether this build has the CUDA plug-in and the machine a GPU."""
    return bool(_core.features()["CUDA"][0]) and os.path.exists("/dev/nvidia0")


def device_count():
    return int(is_available())


def is_initialized():
    """There is nothing to initialize."""
    return is_available()


def init():
    """Nothing to do: a device is opened when it is first used."""


def current_device():
    _need()
    return 0


def set_device(device):
    """There is one device, number 0."""
    _need()
    if _core.device(device) != DEVICE:
        raise _core.InvalidArgumentError(f"{device}: there is one CUDA device, {DEVICE}")


def get_device_name(device=None):
    _need()
    return DEVICE


def _need():
    if not is_available():
        raise _core.UnsupportedError("no CUDA device: this build lacks the plug-in, or the machine "
                                     "a GPU. device='cpu' works everywhere")


def manual_seed(seed):
    """Restarts the random numbers of every device."""
    _core.manual_seed(seed)


manual_seed_all = manual_seed


def empty_cache():
    """Gives up all that can be rebuilt. cebus keeps no cache beside its budget: not needed."""
    if is_available():
        memory.trim(DEVICE)


def synchronize(device=None):
    """Waits for everything enqueued."""
    _need()
    memory.synchronize(DEVICE)


def _of_device(name):
    function = getattr(memory, name)

    def on_device(device=None):
        return function(DEVICE) if is_available() else 0
    on_device.__name__, on_device.__doc__ = name, function.__doc__
    return on_device


memory_allocated = _of_device("memory_allocated")
max_memory_allocated = _of_device("max_memory_allocated")
memory_reserved = _of_device("memory_reserved")
max_memory_reserved = _of_device("memory_reserved")
memory_stats = _of_device("memory_stats")
memory_summary = _of_device("memory_summary")
reset_peak_memory_stats = _of_device("reset_peak_memory_stats")


max_memory_cached, memory_cached = max_memory_reserved, memory_reserved
reset_max_memory_allocated = reset_peak_memory_stats


def initial_seed():
    return random.initial_seed()


def seed():
    """Starts the random numbers anew from a number that nobody knows."""
    random.seed()


seed_all = seed


def get_rng_state(device=None):
    return random.get_rng_state()


def set_rng_state(new_state, device=None):
    random.set_rng_state(new_state)


def is_bf16_supported():
    return is_available()


class device:
    """In this block there is one CUDA device, as ever."""

    def __init__(self, device):
        if device not in (None, 0, -1, "cuda", DEVICE):
            set_device(device)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None


def mem_get_info(device=None):
    """(free, all) bytes of the budget."""
    _need()
    whole = memory.memory_reserved(DEVICE)
    return whole - memory.memory_allocated(DEVICE), whole


def __dir__():
    return sorted(set(globals()))


__getattr__ = missing.of_module("cebus.cuda", __dir__)
