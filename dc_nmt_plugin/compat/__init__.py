"""Every change to fairseq, torch, numpy and Python; importing this package applies them.

Tests: each entry names its own; the rest is in ``tests/unit/compat``.

fairseq's programs and ``dc-nmt`` get all changes. Other Python programs that import
:mod:`dc_nmt_plugin.registration` only get the changes for loading checkpoints and translating.
``dc-nmt doctor`` lists them. To delete a change, delete its entry.
"""

from __future__ import annotations

import sys

from . import batches as batches
from . import beginning as beginning
from . import continuing as continuing
from . import dictionaries as dictionaries
from . import loading as loading
from . import mixed_precision as mixed_precision
from . import performance as performance
from . import programs as programs
from . import repairs as repairs
from . import run_record as run_record
from . import saving as saving
from . import versions as versions
from .change import Change, apply_change, in_order, main_file


def apply(*, all_of_them: bool = False, load: bool = False) -> list[tuple[Change, str]]:
    """Applies the changes that this process needs, and returns the outcome of each.

    Args:
        all_of_them: apply all, also elsewhere than in such a program
        load: also import all of fairseq's programs, and change them
    """
    everything = all_of_them or _in_a_program()
    wanted = [entry for entry in in_order() if everything or entry.loading]
    return [(entry, apply_change(entry, load=load)) for entry in wanted]


def _in_a_program() -> bool:
    """Returns whether this process is a program of fairseq, ``dc-nmt``, or a worker of one."""
    return (
        "dc_nmt_plugin.cli" in sys.modules
        or any(name.startswith("fairseq_cli.") for name in sys.modules)
        or "/fairseq_cli/" in main_file()
    )


apply()
