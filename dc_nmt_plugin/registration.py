"""Registers everything with fairseq, once a process."""

from . import criterions, tasks
from .models import registry
from .models.registry import store_for_hydra

__all__ = ["criterions", "registry", "store_for_hydra", "tasks"]
