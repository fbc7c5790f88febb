"""Flags in a command line of fairseq."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest


def flag_value(command: Sequence[str], flag: str) -> str | None:
    """The last value given to a flag, as ``--flag value`` or ``--flag=value``."""
    found = None
    for word, following in zip_longest(command, command[1:]):
        if word == flag:
            found = following
        elif word.startswith(f"{flag}="):
            found = word.partition("=")[2]
    return found


def replaced(flags: Sequence[str], name: str, value: str) -> tuple[str, ...]:
    """``flags`` with another value of one of them, the first time it is given."""
    if name not in flags:
        return tuple(flags)
    place = list(flags).index(name)
    return (*flags[: place + 1], value, *flags[place + 2 :])
