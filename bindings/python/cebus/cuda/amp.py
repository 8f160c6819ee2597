"""torch.cuda.amp: autocast for CUDA devices, and GradScaler."""
from ..amp import GradScaler, custom_bwd, custom_fwd  # noqa: F401
from ..amp.autocast_mode import autocast as _autocast


class autocast(_autocast):
    """autocast("cuda")"""

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        super().__init__("cuda", dtype, enabled)
