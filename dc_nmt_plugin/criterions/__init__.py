"""One criterion: the joint loss, with the diagnostics of each mechanism."""

from ..patches import applied as applied
from . import joint_loss

__all__ = ["joint_loss"]
