"""Flags in a command line of fairseq."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

from .errors import UserError
from .files import read_small

COMMAND = "command.txt"  # in a run's folder: its fairseq-train command


def flag_value(command: Sequence[str], flag: str) -> str | None:
    """The last value given to a flag, as ``--flag value`` or ``--flag=value``."""
    found = None
    for word, following in zip_longest(command, command[1:]):
        if word == flag:
            found = following
        elif word.startswith(f"{flag}="):
            found = word.partition("=")[2]
    return found


def given_flags(command: Sequence[str]) -> dict[str, str]:
    """Flag → its value, the words of several joined; of a flag given twice the last."""
    found, flag = dict[str, str](), ""
    for word in command:
        if word.startswith("--"):
            flag, _, value = word.partition("=")
            found[flag] = value
        elif flag:
            found[flag] = f"{found[flag]} {word}".strip()
    return found


def whole_number(command: Sequence[str], flag: str) -> int | None:
    """Returns the last value given to a flag, as a whole number.

    Raises:
        UserError: it is none
    """
    text = flag_value(command, flag)
    if text is not None and not re.fullmatch(r"[+-]?\d+", text):
        raise UserError(f"{flag}: {text!r} is no whole number")
    return None if text is None else int(text)


def replaced(flags: Sequence[str], name: str, value: str) -> tuple[str, ...]:
    """``flags`` with another value of one of them, the first time it is given."""
    if name not in flags:
        return tuple(flags)
    place = list(flags).index(name)
    return (*flags[: place + 1], value, *flags[place + 2 :])


def split_words(flag: str, text: str) -> list[str]:
    """The words of a value that is a command line itself, as a shell splits them.

    Args:
        flag: what has the value
        text: value

    Raises:
        UserError: a quotation mark has no other
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UserError(f"{flag}: {text!r}: {error}") from error


def read_command(folder: Path) -> list[str]:
    """The words of the ``fairseq-train`` command of a run's folder; none where it has none.

    Raises:
        UserError: its file is damaged
    """
    path = folder / COMMAND
    return split_words(str(path), read_small(path)) if path.is_file() else []
