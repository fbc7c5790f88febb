"""What has to happen before anything of fairseq is used; every registering package imports this."""

from . import checkpoints, compat
from .errors import install_excepthook

install_excepthook()
compat.apply()
checkpoints.guard()
