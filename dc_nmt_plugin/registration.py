"""Registers everything with fairseq, once a process."""

from . import compat
from .errors import install_excepthook

install_excepthook()
compat.apply()

from . import criterions, models, tasks  # noqa: E402, F401
