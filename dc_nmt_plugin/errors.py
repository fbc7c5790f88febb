"""Errors that a user can correct: one clear sentence each, without a traceback."""

from __future__ import annotations

import difflib
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from types import TracebackType

_SPAWNED = "torch.multiprocessing.spawn.ProcessRaisedException"
ARCHITECTURES = "dc-nmt arch-flags"  # lists them


class UserError(ValueError):
    """Raised for invalid input of the user: a flag, a file, a combination.

    Command-line programs print the message alone and exit with status 1.
    """


class UsageError(UserError):
    """Raised for a wrong command line; ``dc-nmt`` exits with status 2.

    That is an unknown command, option, name or value, and options that contradict each other.
    """


class Stopped(UserError):
    """Raised when the user stops a command; the exit status is that of an interrupt."""


class ConfigError(UserError):
    """Raised for settings that contradict each other or the model; holds every problem.

    Args:
        problems: sentences, each naming the flag, the bad value and the valid choices
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[type[ConfigError], tuple[list[str]]]:
        """Returns the arguments for pickling between processes."""
        return type(self), (self.problems,)


def did_you_mean(word: object, known: Iterable[str], most: int = 1) -> str:
    """Returns a question with the nearest known names, with a space before it; "" without one.

    Args:
        word: given
        known: valid names
        most: number of names
    """
    near = difflib.get_close_matches(str(word), list(known), n=most)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def choice_problem(
    flag: str, value: object, choices: Iterable[str], listing: str | None = None
) -> str | None:
    """Returns a sentence with the nearest choice if `value` is not among `choices`, else None.

    Args:
        flag: of the value
        value: given
        choices: valid values
        listing: command that prints all choices, if they are too many for a sentence
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
        UsageError: some of `values` are not among `choices`
    """
    valid = list(choices)
    found = (choice_problem(flag, value, valid, listing) for value in values)
    problems = [problem for problem in found if problem]
    if problems:
        raise UsageError("\n".join(problems))


def architecture_problem(name: str, known: Iterable[str], flag: str = "architecture") -> str | None:
    """Returns :func:`choice_problem` for the name of an architecture."""
    return choice_problem(flag, name, known, ARCHITECTURES)


def check_architectures(
    names: Iterable[str], known: Iterable[str], flag: str = "architecture"
) -> None:
    """Does :func:`check_choices` for names of architectures."""
    check_choices(flag, names, known, ARCHITECTURES)


def debugging() -> bool:
    """Returns whether ``DC_NMT_DEBUG`` asks for the traceback of every failure."""
    return os.environ.get("DC_NMT_DEBUG", "0") not in ("", "0")


def refusal(error: BaseException) -> str | None:
    """Returns the message of a :class:`UserError`, also of a spawned process's; else None.

    Args:
        error: the exception
    """
    if isinstance(error, UserError):
        return str(error)
    text = spawned_traceback(error) or ""
    found = re.search(rf"^{__package__}\.[\w.]+: (.*)", text, re.M | re.S)
    return found[1] if found else None


def spawned_traceback(error: BaseException) -> str | None:
    """Returns the traceback of a process that torch spawned; None for any other failure.

    Of several chained tracebacks it is the last. torch hands over the text alone.

    Args:
        error: what ended the program
    """
    kind = type(error)  # its name: `dc-nmt --help` imports no torch
    if f"{kind.__module__}.{kind.__name__}" != _SPAWNED:
        return None
    return str(error).rpartition("Traceback (most recent call last):\n")[2].rstrip()


def tell(sentence: str, error: BaseException, program: str = "") -> None:
    """Prints the sentence for a failure, then the file that has the traceback.

    A :class:`UserError` has no traceback. With ``DC_NMT_DEBUG``, the traceback was already printed.
    Prints the traceback itself when no file can be written.

    Args:
        sentence: what the failure means
        error: the failure
        program: the failed command, if the user may not know it
    """
    print(f"{program and f'{program}: '}error: {sentence}", file=sys.stderr)
    if debugging() or refusal(error) is not None:
        return
    text = "".join(traceback.format_exception(error))
    try:
        print(f"traceback: {_kept(text)}", file=sys.stderr)
    except OSError:
        print(text, end="", file=sys.stderr)


def _kept(text: str) -> str:
    """Writes a text into a new file that only this user can read; returns its path."""
    handle, path = tempfile.mkstemp(prefix="dc-nmt-", suffix=".txt")
    try:
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        os.remove(path)
        raise
    return path


def install_excepthook(explain: Callable[[BaseException], str | None]) -> None:
    """Ends the program with a sentence on a known failure; see :func:`tell`.

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
            tell(sentence, error)

    hook._prints_user_errors = True  # type: ignore[attr-defined]
    sys.excepthook = hook
