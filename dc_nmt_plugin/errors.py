"""Errors that a user can correct: one clear sentence each, without a traceback."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterable
from types import TracebackType


class UserError(ValueError):
    """Raised for invalid input of the user: a flag, a file, a combination.

    Command-line programs print the message alone and exit with status 1.
    """


class UsageError(UserError):
    """Raised for a wrong command line: an unknown name, a bad value, options that exclude each
    other. ``dc-nmt`` exits with status 2."""


class ConfigError(UserError):
    """Raised for settings that contradict each other or the model; holds every problem."""

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


def did_you_mean(word: object, known: Iterable[str], most: int = 1) -> str:
    """Returns a question with the nearest known names, with a space before it; "" without one."""
    near = difflib.get_close_matches(str(word), list(known), n=most)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def choice_problem(
    flag: str, value: object, choices: Iterable[str], listing: str | None = None
) -> str | None:
    """Returns a sentence with the nearest choice if `value` is not among `choices`, else None.

    `listing` is the command that prints all choices, if they are too many for a sentence.
    """
    valid = list(choices)
    if value in valid:
        return None
    known = f"the {len(valid)} that {listing!r} lists" if listing else ", ".join(valid)
    return f"{flag}: {value!r} is not one of {known}.{did_you_mean(value, valid)}"


def check_choices(
    flag: str, values: Iterable[object], choices: Iterable[str], listing: str | None = None
) -> None:
    """Checks as :func:`choice_problem`.

    Raises:
        UsageError: one of `values` is not among `choices`
    """
    valid = list(choices)
    for value in values:
        if problem := choice_problem(flag, value, valid, listing):
            raise UsageError(problem)


def debugging() -> bool:
    """Returns True if ``DC_NMT_DEBUG`` asks for the traceback of every failure."""
    return os.environ.get("DC_NMT_DEBUG", "0") not in ("", "0")


def refusal(error: BaseException) -> str | None:
    """Returns the message of a :class:`UserError`; None for any other failure."""
    if isinstance(error, UserError):
        return str(error)
    # torch hands over only the traceback's text of a process that it spawned
    if type(error).__name__ != "ProcessRaisedException":
        return None
    found = re.search(rf"^{__package__}\.[\w.]+: (.*)", str(error), re.M | re.S)
    return found[1].rstrip() if found else None


def install_excepthook() -> None:
    """Ends a program of fairseq with one sentence on a :class:`UserError`, without a traceback."""
    previous = sys.excepthook

    def hook(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        sentence = refusal(error)
        if sentence is None or debugging():
            previous(kind, error, traceback)
        if sentence is not None:
            print(f"error: {sentence}", file=sys.stderr)

    sys.excepthook = hook
