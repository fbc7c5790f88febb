"""Registers everything with fairseq, once a process."""

from . import criterions, models, tasks

__all__ = ["criterions", "models", "tasks"]
