"""One criterion: the joint loss, with the diagnostics of whatever a model is made of."""

from ..patches import applied as applied
from . import joint_loss

__all__ = ["joint_loss"]
