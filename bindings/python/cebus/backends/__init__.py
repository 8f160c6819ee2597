"""Switches of PyTorch's backends. They are taken and change nothing: cebus is deterministic
always, and chooses algorithms by shapes alone, never by timing."""
import types

from . import cudnn  # noqa: F401


def _switches(available, **switches):
    return types.SimpleNamespace(is_available=lambda: available, **switches)


cuda = types.SimpleNamespace(matmul=types.SimpleNamespace(allow_tf32=False),
                             is_built=lambda: False)
mps = _switches(False, is_built=lambda: False)
mkldnn = _switches(True, enabled=True)
openmp = _switches(True)
