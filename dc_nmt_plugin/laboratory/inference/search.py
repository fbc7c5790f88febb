"""Flags of ``fairseq-generate`` for a loaded model: those that are refused, and their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import registration as registration  # adds the tasks of this plugin to fairseq's parser
from ...errors import UsageError
from ...flags import SHORT, WITHOUT_EFFECT, flag_name, flags_of
from ..fairseq_flags import GENERATE, parse_flags


def refuse_flags(flags: Sequence[str], set_here: str) -> None:
    """Refuses flags of the kind `set_here`, and flags without effect: they would be lost.

    Raises:
        UserError: naming the flag
    """
    for word in flags:
        name = SHORT.get(word, word).partition("=")[0]
        if name in map(flag_name, flags_of(set_here)):
            raise UsageError(f"{name}: this command sets it by itself.")
        if name in map(flag_name, flags_of(WITHOUT_EFFECT)):
            raise UsageError(f"{name}: fairseq-generate has it, this command has not.")


def parse_search(words: Sequence[str]) -> Any:
    """Parses flags of ``fairseq-generate``."""
    return parse_flags(GENERATE, words)
