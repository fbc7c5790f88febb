"""fairseq's translation task with the plugin's model, loss, beam search and validation.

Tests: ``tests/unit/tasks``, ``tests/system/test_generation.py``.
"""

from .. import compat as compat
from . import translation as translation
