"""Helpers around training."""
from . import data  # noqa: F401
