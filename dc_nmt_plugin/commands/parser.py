"""Parser of every command: help without markup, suggestions for wrong names, completion."""

from __future__ import annotations

import argparse
import difflib
import os
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..errors import choice_problem


class WithDefaults(argparse.HelpFormatter):
    """Help that adds the default of every option."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        default, text = action.default, action.help
        if text is None or "default" in text or isinstance(default, bool):
            return text
        if default in (None, "", [], argparse.SUPPRESS):
            return text
        shown = " ".join(map(str, default)) if isinstance(default, list) else str(default)
        return f"{text} (default: {shown.replace('%', '%%')})"


class RawWithDefaults(WithDefaults, argparse.RawDescriptionHelpFormatter):
    """The same, with the description's own lines."""


class Parser(argparse.ArgumentParser):
    """argparse's parser, with docstrings as descriptions and defaults in the help."""

    _completing = False
    _given: dict[argparse.Action, list[str]]

    def __init__(self, *, description: str | None = None, **options: Any) -> None:
        options.setdefault("formatter_class", WithDefaults)
        super().__init__(description=_without_markup(description), **options)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parses as argparse; for completion, prints only the possible words."""
        if "_ARGCOMPLETE" in os.environ and not Parser._completing:
            import argcomplete

            Parser._completing = True  # argcomplete parses in its turn
            argcomplete.autocomplete(self)
        self._given = {}
        found, unknown = super().parse_known_args(args, namespace)
        refuse_repeated(unknown, self.error)
        return found, unknown

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Stores the values of a flag; refuses a repeated flag unless it takes several values."""
        if action.option_strings and action.nargs != 0:
            if action in self._given and not isinstance(action, argparse._AppendAction):
                self.error(_twice(action.option_strings[-1], self._given[action], arg_strings))
            self._given[action] = arg_strings
        return super()._get_values(action, arg_strings)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parses as argparse, and suggests the nearest flag for an unknown one."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}.{self._near(unknown)}")
        return found

    def _near(self, words: Sequence[str]) -> str:
        flags = [flag for flag in self._option_string_actions if flag.startswith("--")]
        for word in words:
            near = difflib.get_close_matches(word.partition("=")[0], flags, n=1)
            if near and word.startswith("-"):
                return f" Did you mean {near[0]}?"
        return ""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None:
            flag = "/".join(action.option_strings) or action.metavar or action.dest
            problem = choice_problem(str(flag), value, action.choices)
            if problem:
                self.error(problem)

    def error(self, message: str) -> NoReturn:
        """Exits with the usage, one sentence and status 2."""
        super().error(message)


def refuse_repeated(words: Sequence[str], error: Callable[[str], NoReturn]) -> None:
    """Refuses a flag of fairseq's that the user gave twice, of which fairseq takes the last.

    Args:
        words: flags and their values
        error: is given the sentence
    """
    given: dict[str, list[str]] = {}
    for number, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if not re.fullmatch(r"--[a-z][\w-]*", flag):
            continue
        end = next((n for n in range(number + 1, len(words)) if words[n][:2] == "--"), len(words))
        values = [value] if equals else list(words[number + 1 : end])
        if values and given.get(flag):
            error(_twice(flag, given[flag], values))
        given[flag] = values


def _twice(flag: str, first: Sequence[str], second: Sequence[str]) -> str:
    one, other = (" ".join(words) for words in (first, second))
    return f"{flag}: is given twice, with {one!r} and with {other!r}; give it once"


def _without_markup(text: str | None) -> str | None:
    return None if text is None else re.sub(r"``([^`]*)``", r"\1", text)
