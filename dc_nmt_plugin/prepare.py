"""What has to happen before anything of fairseq is used; every registering package imports this."""

from . import compat
from .checkpoints.guard import guard
from .errors import install_excepthook

install_excepthook()
compat.apply()
guard()
