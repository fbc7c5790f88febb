"""Flags in command lines of fairseq, and lists as their values."""

from __future__ import annotations

import argparse
import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from .errors import UsageError

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def flag_name(setting: str) -> str:
    """Returns the flag of a setting: ``encoder_layers`` → ``--encoder-layers``."""
    return f"--{setting.replace('_', '-')}"


def setting_name(flag: str) -> str:
    """Returns the setting of a flag: ``--encoder-layers`` → ``encoder_layers``."""
    return flag.removeprefix("--").replace("-", "_")


def as_flags(settings: Mapping[str, Any]) -> list[str]:
    """Returns settings as words of a command line; True is a switch, False its ``--no-NAME``.

    Also the command line of :func:`typed_flags`.
    """
    words = []
    for name, value in settings.items():
        flag = flag_name(name)
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag.removeprefix('--')}")
        else:
            words += [flag, str(value)]
    return words


def flag_value(command: Sequence[str], flag: str) -> str | None:
    """Returns the last value given to a flag, as ``--flag value`` or ``--flag=value``."""
    found, joined = None, f"{flag}="
    for word, following in zip_longest(command, command[1:]):
        if word == flag:
            found = following
        elif word.startswith(joined):
            found = word.removeprefix(joined)
    return found


def given_flags(command: Sequence[str]) -> dict[str, str]:
    """Returns flag → value, with several words joined; the last value of a repeated flag."""
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
        UserError: the value is not a whole number
    """
    text = flag_value(command, flag)
    if text is not None and not re.fullmatch(r"[+-]?\d+", text):
        raise UsageError(f"{flag}: {text!r} is no whole number")
    return None if text is None else int(text)


def replaced(flags: Sequence[str], name: str, value: str) -> tuple[str, ...]:
    """Returns ``flags`` with another value for the first occurrence of one flag."""
    if name not in flags:
        return tuple(flags)
    place = list(flags).index(name)
    return (*flags[: place + 1], value, *flags[place + 2 :])


def listed(text: str) -> list[str]:
    """Returns the items of a list with commas, each once."""
    return list(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))


class Listed(argparse.Action):
    """Joins the lists of several words."""

    def __call__(self, _: Any, args: argparse.Namespace, values: Any, flag: Any = None) -> None:
        setattr(args, self.dest, [item for part in values for item in part])


def add_list(
    parser: argparse.ArgumentParser, flag: str, item: Callable[[str], Any], name: str, about: str
) -> argparse.Action:
    """Adds a flag whose value is a list with commas; several words are taken too.

    Args:
        parser: of the flag
        flag: such as ``--values``
        item: parses an item
        name: of an item in the help
        about: for the help
    """

    def read(text: str) -> list[Any]:
        try:
            return [item(part) for part in listed(text)]
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers") from None

    return parser.add_argument(flag, type=read, nargs="+", action=Listed, metavar=name, help=about)


def split_words(flag: str, text: str) -> list[str]:
    """Splits a value that is a command line, like a shell.

    Args:
        flag: of the value
        text: value

    Raises:
        UserError: an unclosed quotation mark
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{flag}: {text!r}: {error}") from error


def typed_flags(words: Sequence[str]) -> dict[str, bool | int | float | str]:
    """Returns the flags of a command line without their dashes, with numbers as numbers.

    A switch is True. Of a repeated flag, the last value counts.
    """
    return {name.removeprefix("--"): _typed(value) for name, value in given_flags(words).items()}


def _typed(text: str) -> bool | int | float | str:
    if not _NUMBER.fullmatch(text):
        return text or True
    if re.fullmatch(r"-?(0|[1-9]\d*)", text):
        return int(text)
    return float(text) if math.isfinite(float(text)) else text
