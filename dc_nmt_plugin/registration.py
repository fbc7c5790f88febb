"""Registers everything with fairseq, once a process: ``--user-dir`` and the commands import it."""

from . import criterions as criterions
from . import tasks as tasks
from .models.registry import store_for_hydra as store_for_hydra
