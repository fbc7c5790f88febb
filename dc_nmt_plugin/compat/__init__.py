"""Every change to fairseq, torch, numpy and Python; importing this package applies them.

fairseq's programs and ``dc-nmt`` get all changes. Other Python programs that import
:mod:`dc_nmt_plugin.registration` only get the changes for loading checkpoints and translating.
``dc-nmt doctor`` lists them. To delete a change, delete its entry.
"""

from __future__ import annotations

import sys

from . import (
    batches,
    continuing,
    decoding,
    dictionaries,
    loading,
    mixed_precision,
    programs,
    saving,
    speed,
    versions,
)
from .change import CHANGES, Change, apply_change

__all__ = ["apply", "batches", "continuing", "decoding", "dictionaries", "loading",
           "mixed_precision", "programs", "saving", "speed", "versions"]  # fmt: skip


def apply(*, all_of_them: bool | None = None, load: bool = False) -> list[tuple[Change, str]]:
    """Applies the changes that this process needs, and returns the outcome of each.

    Args:
        all_of_them: apply all, as in fairseq's programs; default: True only in such a program
        load: also import all of fairseq's programs, and change them
    """
    everything = _in_a_program() if all_of_them is None else all_of_them
    wanted = [entry for entry in CHANGES if everything or entry.loading]
    return [(entry, apply_change(entry, load=load)) for entry in wanted]


def _in_a_program() -> bool:
    """Returns whether this process is a program of fairseq, ``dc-nmt``, or a worker of one."""
    main = sys.modules.get("__main__")
    path = (getattr(main, "__file__", None) or "").replace("\\", "/")
    return (
        "dc_nmt_plugin.cli" in sys.modules
        or any(name.startswith("fairseq_cli.") for name in sys.modules)
        or "/fairseq_cli/" in path
    )


apply()
