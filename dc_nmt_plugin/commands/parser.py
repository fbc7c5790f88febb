"""Parser of every command: options in any place, suggestions for wrong names, completion."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ..errors import UsageError, choice_problem, did_you_mean
from ..figure import FORMATS, save
from ..flags import Listed
from ..table import LATEX, MARKDOWN, TEXT, Form
from .renamed import renamed_option


class WithDefaults(argparse.HelpFormatter):
    """Help that adds the default of every option."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        default, text = action.default, action.help
        if text is None or "default" in text or isinstance(default, bool):
            return text
        if default in (None, "", [], (), argparse.SUPPRESS):
            return text
        shown = " ".join(map(str, default)) if isinstance(default, list) else str(default)
        return f"{text} (default: {shown.replace('%', '%%')})"

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        if isinstance(action, Listed):  # with commas; several words are not shown
            return str(action.metavar)
        return super()._format_args(action, default_metavar)


class RawWithDefaults(WithDefaults, argparse.RawDescriptionHelpFormatter):
    """The same, with the description's own lines."""


class Parser(argparse.ArgumentParser):
    """argparse's parser, with docstrings as descriptions and defaults in the help.

    Options and arguments may come in any order. Options are never abbreviated, because fairseq's
    flags may follow.
    """

    _completing = False
    _passes_flags = False  # unknown flags are fairseq's
    _given: dict[argparse.Action, list[str]]
    _words: Sequence[str] = ()

    def __init__(self, *, description: str | None = None, **options: Any) -> None:
        options.setdefault("formatter_class", WithDefaults)
        options.setdefault("allow_abbrev", False)
        super().__init__(description=_without_markup(description), **options)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parses as argparse; for completion, prints only the possible words."""
        if "_ARGCOMPLETE" in os.environ and not Parser._completing:
            import argcomplete

            Parser._completing = True  # argcomplete parses in its turn
            argcomplete.autocomplete(self)
        self._given = {}
        self._words = words = list(args or [])
        if Parser._completing or self._subparsers or {"-h", "--help"} & set(words):
            return super().parse_known_args(words, namespace)
        if old := renamed_option(self.prog, words):
            self.error(old)
        return self._parse_in_any_order(words, namespace)

    def _parse_in_any_order(self, words: list[str], namespace: Any) -> Any:
        """Parses the options, then the arguments: all that comes before an unknown flag."""
        arguments = self._get_positional_actions()
        forms = [(action.nargs, action.default) for action in arguments]
        for action in arguments:
            action.nargs = action.default = argparse.SUPPRESS
        try:
            namespace, rest = super().parse_known_args(words, namespace)
        finally:
            for action, form in zip(arguments, forms, strict=True):
                action.nargs, action.default = form
        end = next((n for n, word in enumerate(rest) if re.match("--?[A-Za-z]", word)), len(rest))
        if rest[end:] and not self._passes_flags:
            self._refuse_unknown(rest[end:])
        required: list[Any] = [*self._get_optional_actions(), *self._mutually_exclusive_groups]
        required = [each for each in required if each.required]
        for each in required:
            each.required = False
        try:
            found, extra = super().parse_known_args(rest[:end], namespace)
        except UsageError as error:
            place = f"; put them before {rest[end]}" if rest[end:] else ""
            raise UsageError(f"{error}{place}") from None
        finally:
            for each in required:
                each.required = True
        return found, [*extra, *rest[end:]]

    def parse_with_flags(self, argv: Sequence[str] | None) -> tuple[argparse.Namespace, list[str]]:
        """Returns known options, and fairseq's flags: unknown ones, and all after ``--``."""
        words = list(argv or [])
        end = words.index("--") if "--" in words else len(words)
        self._passes_flags = True
        args, unknown = self.parse_known_args(words[:end])
        if unknown and not unknown[0].startswith("-"):
            self._refuse_unknown(unknown)
        flags = [*unknown, *words[end + 1 :]]
        refuse_repeated(flags, self.error)
        return args, flags

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parses as argparse, and suggests the nearest flag for an unknown one."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self._refuse_unknown(unknown)
        return found

    def _refuse_unknown(self, words: Sequence[str]) -> NoReturn:
        if not words[0].startswith("-"):
            self.error(f"{words[0]}: is one argument too many for {self.prog}")
        flag = words[0].partition("=")[0]
        hint = did_you_mean(flag, self._option_string_actions)
        self.error(f"{flag}: {self.prog} has no such option.{hint}")

    def _refuse_misspelt(self) -> None:
        """Refuses an unknown option, which may be a required one with an error in its name."""
        for word in self._words:
            known = word.partition("=")[0] in self._option_string_actions
            if word.startswith("--") and not known and not self._passes_flags:
                self._refuse_unknown([word])

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Stores the values of a flag; refuses a repeated flag unless it takes several values."""
        if action.option_strings and action.nargs != 0:
            if action in self._given and not isinstance(action, argparse._AppendAction):
                self.error(_twice(action.option_strings[-1], self._given[action], arg_strings))
            self._given[action] = arg_strings
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None:
            flag = "/".join(action.option_strings) or action.metavar or action.dest
            problem = choice_problem(str(flag), value, action.choices)
            if problem:
                self.error(problem)

    def error(self, message: str) -> NoReturn:
        """
        Raises:
            UsageError: always
        """
        hint = ""
        if message.startswith("the following arguments are required"):
            self._refuse_misspelt()
            hint = f"; {self.prog} --help explains them"
        raise UsageError(f"{message.removeprefix('argument ')}{hint}")


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


def number(least: int) -> Callable[[str], int]:
    """Returns a parser of whole numbers from ``least`` on."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} on")
        return int(text)

    return read


def add_json(parser: argparse._ActionsContainer) -> None:
    """Adds ``--json``, which means the same in every command; :func:`print_json` obeys it."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_forms(parser: argparse.ArgumentParser, *forms: str) -> argparse._MutuallyExclusiveGroup:
    """Adds ``--json`` and other forms of a table that exclude each other, and returns them.

    Args:
        forms: ``latex``, ``markdown``; :func:`form_of` reads them
    """
    group = parser.add_mutually_exclusive_group()
    add_json(group)
    for form in forms:
        name = {"latex": "LaTeX", "markdown": "Markdown"}[form]
        group.add_argument(f"--{form}", action="store_true", help=f"print {name}")
    return group


def form_of(args: argparse.Namespace) -> Form:
    """Returns the requested form of a table."""
    if args.latex:
        return LATEX
    return MARKDOWN if getattr(args, "markdown", False) else TEXT


def print_json(facts: Any) -> None:
    """Prints JSON, with escapes where the output is not in UTF-8."""
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    print(json.dumps(facts, indent=2, ensure_ascii=ascii_only), flush=True)


def print_report(facts: Any, as_json: bool, as_text: Callable[[Any], str]) -> None:
    """Prints JSON, or the same facts as a text."""
    if as_json:
        print_json(facts)
    else:
        print(as_text(facts))


def add_plot(parser: argparse._ActionsContainer, about: str = "draw a figure") -> None:
    """Adds ``--plot``, which means the same in every command."""
    parser.add_argument(
        "--plot", type=figure, metavar="FILE",
        help=f"{about}: {', '.join(FORMATS)}; a name without ending becomes .png and .svg",
    )  # fmt: skip


def write_plot(drawn: Any, path: Path) -> None:
    """Writes the figure of ``--plot``, after what was printed, because writing may fail."""
    sys.stdout.flush()
    for each in save(drawn, path):
        print(f"written: {each}", file=sys.stderr)


def figure(text: str) -> Path:
    """Checks the name of a figure."""
    path = Path(text)
    if path.suffix and path.suffix.lower() not in FORMATS:
        raise argparse.ArgumentTypeError(f"{text!r} ends in none of {', '.join(FORMATS)}")
    return path


def add_threads(parser: argparse._ActionsContainer) -> None:
    """Adds ``--threads``; :func:`use_threads` obeys it."""
    parser.add_argument(
        "--threads", type=number(1), metavar="N",
        help="CPU threads of training and translation; default: all",
    )  # fmt: skip


def use_threads(args: argparse.Namespace) -> None:
    """Sets the number of threads for the programs that this process starts."""
    if args.threads:
        os.environ["OMP_NUM_THREADS"] = str(args.threads)
