"""Tasks: one translation task with every hook."""

from .. import compat as compat
from . import run_record as run_record
from . import translation as translation
