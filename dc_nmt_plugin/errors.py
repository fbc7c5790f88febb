"""Errors that a user can mend: one clear sentence each, without a traceback."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Iterable
from types import TracebackType


class UserError(ValueError):
    """Something the user gave cannot work: a flag, a file, a combination.

    Command-line programs print the message alone and exit with status 1.
    """


class Stopped(UserError):
    """The user stopped it; the exit status is that of an interrupt."""


class ConfigError(UserError):
    """Settings that contradict each other or the model; collects every problem at once.

    Args:
        problems: sentences, each naming the flag, the bad value and the valid choices
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[type[ConfigError], tuple[list[str]]]:
        """For the way from one process to another."""
        return type(self), (self.problems,)


def choice_problem(
    flag: str, value: object, choices: Iterable[str], listing: str | None = None
) -> str | None:
    """A sentence if `value` is not among `choices`, naming the nearest; None if it is.

    Args:
        flag: what has the value
        value: given
        choices: what it may be
        listing: command that prints all choices, where they are too many for a sentence
    """
    valid = list(choices)
    if value in valid:
        return None
    near = difflib.get_close_matches(str(value), valid, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    known = f"the {len(valid)} that {listing!r} lists" if listing else ", ".join(valid)
    return f"{flag}: {value!r} is not one of {known}.{hint}"


def architecture_problem(name: str, known: Iterable[str], flag: str = "architecture") -> str | None:
    """:func:`choice_problem` of an architecture's name."""
    return choice_problem(flag, name, known, "dc-nmt arch-flags")


def debugging() -> bool:
    """Whether ``DC_NMT_DEBUG`` asks for the traceback of every failure."""
    return os.environ.get("DC_NMT_DEBUG", "0") not in ("", "0")


def install_excepthook(explain: Callable[[BaseException], str | None]) -> None:
    """Let a failure that can be explained end the program with a sentence, not a traceback.

    Args:
        explain: exception → sentence, or None
    """
    previous = sys.excepthook
    if getattr(previous, "_prints_user_errors", False):
        return

    def hook(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        sentence = explain(error)
        if sentence is None or debugging():
            previous(kind, error, traceback)
        if sentence is not None:
            print(f"error: {sentence}", file=sys.stderr)

    hook._prints_user_errors = True  # type: ignore[attr-defined]
    sys.excepthook = hook
