"""Registers everything with fairseq, once a process."""

from . import criterions, models, tasks
from .gate.install import explain_under_hydra
from .models.presets import store_for_hydra

__all__ = ["criterions", "explain_under_hydra", "models", "store_for_hydra", "tasks"]
