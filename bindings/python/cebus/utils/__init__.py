"""Helpers around training."""
from . import checkpoint, data  # noqa: F401
