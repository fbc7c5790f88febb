"""Models; importing this package registers every architecture of ``presets.py``."""

from .. import prepare as prepare
from .. import tasks as tasks  # a model's from_pretrained() sets up its task
from . import recurrent, transformer
from .presets import register_all

register_all()

__all__ = ["recurrent", "transformer"]
