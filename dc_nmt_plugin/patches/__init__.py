"""Declares every change to fairseq, torch, numpy and Python's hooks, one entry for each.

fairseq's programs and ``dc-nmt`` get all patches. Other Python programs that import
:mod:`dc_nmt_plugin.registration` only get the patches for loading checkpoints and translating.
``dc-nmt doctor`` lists them. To delete a patch, delete its entry.
"""

from __future__ import annotations

import sys

from . import (
    command_lines,
    continuing,
    interactive,
    loading,
    plateau,
    process,
    programs,
    reading,
    saving,
    starting,
    training,
)
from .patch import State, apply_all, declared

__all__ = ["apply", "command_lines", "continuing", "in_a_program", "interactive", "loading",
           "plateau", "process", "programs", "reading", "saving", "starting", "states",
           "training"]  # fmt: skip


def apply(*, all_of_them: bool | None = None) -> list[State]:
    """Applies the patches that this process needs; a second call adds missing patches.

    Args:
        all_of_them: apply all, as in fairseq's programs; default: True only in such a program

    Returns:
        the outcome of each patch
    """
    wanted = in_a_program() if all_of_them is None else all_of_them
    return apply_all(patch for patch in declared() if wanted or patch.loading)


def states() -> list[State]:
    """Loads all of fairseq's programs, applies every patch, and returns the outcome of each."""
    return apply_all(declared(), load=True)


def in_a_program() -> bool:
    """Returns whether this process is a program of fairseq, ``dc-nmt``, or a worker of one."""
    main = sys.modules.get("__main__")
    path = (getattr(main, "__file__", None) or "").replace("\\", "/")
    return (
        "dc_nmt_plugin.cli" in sys.modules
        or any(name.startswith("fairseq_cli.") for name in sys.modules)
        or "/fairseq_cli/" in path
    )
