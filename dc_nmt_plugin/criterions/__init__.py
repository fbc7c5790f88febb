"""The joint loss of one or several decoders, with the diagnostics of each mechanism.

Tests: ``tests/model/test_joint_loss.py``, ``tests/model/test_diagnostics.py``.
"""

from .. import compat as compat
from . import joint_loss as joint_loss
