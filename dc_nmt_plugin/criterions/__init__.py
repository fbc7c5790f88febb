"""One criterion: the joint loss, with the diagnostics of each mechanism."""

from .. import compat as compat
from . import joint_loss as joint_loss
