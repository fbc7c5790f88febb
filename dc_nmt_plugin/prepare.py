"""What has to happen before anything of fairseq is used; every registering package imports this."""

from . import compat, training_mends
from .checkpoints.guard import guard
from .errors import install_excepthook
from .gate.explanations import explained
from .gate.install import install

install_excepthook(explained)
compat.apply()
training_mends.apply()
guard()
install()
