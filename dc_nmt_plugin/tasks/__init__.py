"""Tasks: one translation task with every hook."""

from .. import compat as compat
from . import translation as translation
