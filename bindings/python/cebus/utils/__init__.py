"""Helpers around training."""
from . import checkpoint, data, dlpack  # noqa: F401
