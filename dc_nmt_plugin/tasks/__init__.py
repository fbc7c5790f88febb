"""Tasks: one translation task with every hook."""

from ..patches import applied as applied
from . import translation

__all__ = ["translation"]
