"""Automatic mixed precision: which operations read 16 bits.

    with cebus.autocast("cpu", dtype=cebus.bfloat16):
        loss = loss_of(model(x), y)
    loss.backward()

Products, convolutions and attention read the 16-bit type; powers, logarithms, exponentials, sums,
softmax, the norms of layers and losses read float32 (PyTorch's lists for CUDA, on every device);
all else takes what comes, and where types meet the wider one stands. float64 is left alone. Casts
are recorded, so that gradients have the type of the parameters; they are not kept between
operations, for whatever is cast again costs no memory meanwhile.
"""
import functools
import warnings

from .. import _core

NARROW = (_core.bfloat16, _core.float16)
USUAL = {"cpu": _core.bfloat16, "cuda": _core.float16}


class autocast:
    """A block, or a decorated function, in which operations on a kind of device ("cpu"; "cuda",
    for simulated devices, too) read 16 bits where that is good enough."""

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        kind = str(device_type).split(":")[0]
        kind = "cuda" if kind == "sim" else kind
        if kind not in USUAL:
            raise RuntimeError(f"User specified autocast device_type must be 'cuda' or 'cpu', not "
                               f"{device_type!r}")
        self.device, self.fast_dtype, self._enabled = kind, dtype or USUAL[kind], bool(enabled)
        if self._enabled and self.fast_dtype not in NARROW:
            warnings.warn(f"In autocast, but the target dtype is not supported: {self.fast_dtype}. "
                          "Disabling autocast. There are bfloat16 and float16.", stacklevel=2)
            self._enabled = False
        self._before = []

    def __enter__(self):
        self._before.append(_core._autocast_set(self.device,
                                                self.fast_dtype if self._enabled else None))
        return self

    def __exit__(self, *exception):
        _core._autocast_set(self.device, self._before.pop())

    def __call__(self, function):
        @functools.wraps(function)
        def scoped(*arguments, **keywords):
            with self:
                return function(*arguments, **keywords)
        return scoped


def is_autocast_enabled():
    """Whether operations on CUDA and simulated devices are cast."""
    return _core._autocast_get("cuda") is not None


def is_autocast_cpu_enabled():
    """Whether operations on the CPU are cast."""
    return _core._autocast_get("cpu") is not None


def get_autocast_gpu_dtype():
    return _core._autocast_get("cuda") or USUAL["cuda"]


def get_autocast_cpu_dtype():
    return _core._autocast_get("cpu") or USUAL["cpu"]


class _Without:
    """A block without casts."""

    def __init__(self):
        self._scopes = [autocast(kind, enabled=False) for kind in USUAL]

    def __enter__(self):
        for each in self._scopes:
            each.__enter__()

    def __exit__(self, *exception):
        for each in self._scopes:
            each.__exit__()


def custom_fwd(fwd=None, *, cast_inputs=None):
    """For forward of autograd.Function: with `cast_inputs`, tensors come in that type and nothing
    is cast within."""
    if fwd is None:
        return functools.partial(custom_fwd, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*arguments, **keywords):
        if cast_inputs is None or not (is_autocast_enabled() or is_autocast_cpu_enabled()):
            return fwd(*arguments, **keywords)
        cast = [each.to(cast_inputs) if isinstance(each, _core.Tensor)
                and each.is_floating_point() else each for each in arguments]
        with _Without():
            return fwd(*cast, **keywords)
    return forward


def custom_bwd(bwd):
    """For backward of autograd.Function: it runs outside of every block anyway."""
    return bwd
