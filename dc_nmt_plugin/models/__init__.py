"""Models; importing this package registers every architecture of ``presets``."""

from .. import tasks as tasks
from ..patches import applied as applied
from . import recurrent, transformer
from .presets import register_all

register_all()

__all__ = ["recurrent", "transformer"]
