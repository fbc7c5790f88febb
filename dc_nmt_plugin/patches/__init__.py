"""All changes to fairseq, torch, numpy and Python's hooks, one entry for each change.

fairseq's programs and ``dc-nmt`` get all patches. Other Python code that imports
:mod:`dc_nmt_plugin.registration` gets only those that loading a checkpoint and translating need.
``dc-nmt doctor`` lists them. To delete a patch, delete its entry.
"""

from __future__ import annotations

import sys

from . import (
    command_lines,
    continuing,
    interactive,
    loading,
    process,
    programs,
    reading,
    saving,
    starting,
    training,
)
from .patch import State, apply_all, declared

__all__ = ["apply", "command_lines", "continuing", "in_a_program", "interactive", "loading",
           "process", "programs", "reading", "saving", "starting", "states",
           "training"]  # fmt: skip


def apply(*, all_of_them: bool | None = None) -> list[State]:
    """Applies the patches that this process needs; a second call adds missing ones.

    Args:
        all_of_them: as in fairseq's programs; by default only where this process is one

    Returns:
        what became of each
    """
    wanted = in_a_program() if all_of_them is None else all_of_them
    return apply_all(patch for patch in declared() if wanted or patch.loading)


def states() -> list[State]:
    """Loads all of fairseq's programs, applies all patches, and returns their states."""
    return apply_all(declared(), load=True)


def in_a_program() -> bool:
    """Returns True in fairseq's programs, in ``dc-nmt``, and in their workers."""
    main = sys.modules.get("__main__")
    path = (getattr(main, "__file__", None) or "").replace("\\", "/")
    return (
        "dc_nmt_plugin.cli" in sys.modules
        or any(name.startswith("fairseq_cli.") for name in sys.modules)
        or "/fairseq_cli/" in path
    )
