"""Registers everything with fairseq, once a process."""

from . import criterions, models, tasks
from .models.presets import store_for_hydra

__all__ = ["criterions", "models", "store_for_hydra", "tasks"]
