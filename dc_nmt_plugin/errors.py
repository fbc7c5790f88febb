"""Errors that a user can correct: one clear sentence each, without a traceback."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable

# a terminal obeys control characters, and shows text after marks of direction in another order
_OBEYED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class UserError(ValueError):
    """Raised for invalid input: programs print the message alone and exit with status 1."""


class UsageError(UserError):
    """Raised for a wrong command line: ``dc-nmt`` exits with status 2."""


class MissingText(UserError):
    """Raised for a run whose reference is not here, as that of a run which came without it."""


class ConfigError(UserError):
    """Raised for settings that contradict each other or the model; holds every problem."""

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


def printable(text: object) -> str:
    """Returns a name or a line of text for people, on one line: an escape stands as ``\\x1b``."""
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode(), str(text))


def notify(*lines: object, out: bool = False) -> None:
    """Prints lines that may have names to standard error, or to standard output."""
    stream = sys.stdout if out else sys.stderr
    print(*map(printable, lines), sep="\n", file=stream, flush=True)


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun: ``1 line``, ``2,000 lines``, ``0 hypotheses``."""
    plural = f"{noun[:-2]}es" if noun.endswith("is") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def did_you_mean(word: object, known: Iterable[str], most: int = 1) -> str:
    """Returns a question with the nearest known names, with a space before it; "" without one."""
    names = {name.lstrip("-"): name for name in known}  # dashes alone make no flags alike
    near = [names[n] for n in difflib.get_close_matches(str(word).lstrip("-"), names, n=most)]
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
    flag: str,
    values: Iterable[object],
    choices: Iterable[str],
    listing: str | None = None,
    error: type[UserError] = UsageError,
) -> None:
    """Raises `error` if one of `values` is not among `choices`; see :func:`choice_problem`."""
    valid = list(choices)
    for value in values:
        if problem := choice_problem(flag, value, valid, listing):
            raise error(problem)
