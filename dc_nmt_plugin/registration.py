"""Registers everything with fairseq, once a process: ``--user-dir`` and the commands import it."""

from . import criterions as criterions
from . import tasks as tasks
from .extension import import_from_variable
from .models.registry import store_for_hydra as store_for_hydra

import_from_variable()
