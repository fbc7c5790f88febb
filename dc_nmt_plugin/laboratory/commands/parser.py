"""The parser of every command, and options that several commands have."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ...errors import UsageError, UserError, did_you_mean
from ...files import folder_problem
from ...flags import SET_BY_RECIPES, SHORT, flag_name, flags_of, listed

if TYPE_CHECKING:
    from ..table import Form, NamedColumns

T = TypeVar("T")
FIGURES = (".png", ".svg", ".pdf")
# of the options below
HELP = {
    "--tokenized-reference": "tokenised like the training text, without BPE; default: --reference "
    "by --tokenizer",
    "--tokenizer": "tokeniser of the text before BPE; moses-a splits hyphens to ' @-@ '; default: "
    "of the first run, or none",
    "--truecased": "the tokenised text of both sides is: capitalise sentences in the detokenised "
    "text",
    "--out": "output folder; default: runs/TASK, or the folder of your own recipe",
    "--sample": "trial run with about N training pairs, a narrow model and 40 updates; the text is "
    "in runs/TASK-sampleN, or FOLDER/sampleN for your own recipe",
    "--raw": "folder with files that you have, packed or unpacked",
    "--downloads": "folder of downloaded files; default: DC_NMT_DOWNLOADS, else runs/downloads",
    "--any-counts": "continue although the numbers of lines are not the published ones",
    "--report": "write each line with a problem to FILE: file, line, kind and example, with tabs "
    "between them",
    "--size": "such as big; base is the size without a name; default: the paper's",
    "--like": "train with the settings of another paper, such as context-aware for its baseline; "
    "default: the recipe's choice for ARCH",
    "--name": "name of the run's folder; default: ARCH-sSEED, between them the size that --size or "
    "the recipe names, and --like",
    "--average": "number of last checkpoints to keep and average; 0: only the best checkpoint",
    "--max-update": "number of updates; the number of checkpoints stays the same",
    "--max-tokens": "tokens of one GPU at a time; gradients are accumulated to the paper's tokens "
    "per update on any number of GPUs",
    "--update-freq": "accumulate gradients N times, instead of to the paper's tokens per update",
    "--fp32": "multiply in float32 on a CPU that is faster in bfloat16 (--amp of fairseq-train)",
}


class Parser(argparse.ArgumentParser):
    """argparse's parser, with options and arguments in any order, and no abbreviations.

    An option that takes one value may be given once: argparse would silently take the last one.
    """

    def __init__(self, *, description: str | None = None, **options: Any) -> None:
        plain = (description or "").replace("``", "")  # marks of a docstring
        super().__init__(description=plain, allow_abbrev=False, **options)

    def parse_args(self, args: Any = (), namespace: Any = None) -> Any:
        if self._subparsers:  # argparse cannot mix the order of their options and arguments
            parsed, rest = self.parse_known_args(args, namespace)
        else:
            self._check_options(args)
            parsed, rest = self.parse_known_intermixed_args(args, namespace)
        if rest:
            self.error(f"{rest[0]}: is one argument too many for {self.prog}")
        return parsed

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if not self._subparsers:  # argparse calls the parser of a subcommand
            self._check_options(args)
        return super().parse_known_args(args, namespace)

    def parse_with_flags(self, argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
        """Returns known options, and fairseq's flags: unknown ones, and all after ``--``.

        argparse's parse_known_args would take the value of an unknown flag for an argument.
        """
        words = list(argv)
        end = words.index("--") if "--" in words else len(words)
        own: list[str] = []
        flags: list[str] = []
        target = own
        for word in words[:end]:
            name = _option(word)
            if name:
                target = own if name in self._option_string_actions else flags
            target.append(word)  # an option, or a value of the last one
        flags += words[end + 1 :]
        for name in filter(None, map(_option, flags)):
            # another value would be lost, or give another run's results
            if SHORT.get(name, name) in map(flag_name, flags_of(SET_BY_RECIPES)):
                self.error(f"{name}: this command sets it by itself.")
        return self.parse_args(own), flags

    def _check_options(self, words: Sequence[str]) -> None:
        """Refuses unknown and repeated options, and empty values.

        argparse would first report a missing option, which may be the misspelt one.
        """
        names: list[str] = []
        for word in words:
            name = _option(word)
            if name:
                action = self._option_string_actions.get(name)
                if action is None:
                    hint = did_you_mean(name, self._option_string_actions)
                    self.error(f"{name}: {self.prog} has no such option.{hint}")
                repeatable = action.nargs == 0 or isinstance(action, argparse._AppendAction)
                if name in names and not repeatable:
                    self.error(f"{name}: is given twice; give it once")
                names.append(name)
            last = names[-1] if names else self.prog
            if word in ("", f"{last}=") and last != "--sentence":  # which may be a blank line
                self.error(f"{last}: '' is not a value; leave it out, or give one")

    def error(self, message: str) -> NoReturn:
        """Raises UsageError, instead of printing and ending the process."""
        raise UsageError(message.removeprefix("argument "))


def _option(word: str) -> str | None:
    """Returns the name of the option in ``--name`` or ``--name=value``; None for other words."""
    match = re.match(r"(--?[A-Za-z][\w-]*)(=|$)", word)
    return match[1] if match else None


def values_of(kind: type[T], args: argparse.Namespace, /, **others: Any) -> T:
    """Returns a dataclass of options: its fields from the command line, and `others`."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    values = {name: getattr(args, name) for name in names if hasattr(args, name)}
    return kind(**{**values, **others})


# -- types of values: each reads a word of the command line ------------------------------------


def number(least: int) -> Callable[[str], int]:
    """Returns a type: whole numbers from ``least`` on, as large as numpy takes them as a seed."""

    def read(text: str) -> int:
        if not re.fullmatch("[0-9]{1,10}", text) or not least <= int(text) < 2**32:
            valid = f"{least} to {2**32 - 1:,}"
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {valid}")
        return int(text)

    return read


def numbers(text: str) -> tuple[int, ...]:
    """Reads whole numbers that commas separate, each once."""
    return tuple(dict.fromkeys(map(number(0), text.split(","))))


def existing_folder(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a folder")
    return Path(text)


def folder_name(text: str) -> str:
    """Checks the name of one folder, not a path."""
    if not re.fullmatch(r"[\w.+=,-]+", text) or set(text) <= {"."}:
        raise argparse.ArgumentTypeError(f"{text!r}: use letters, digits and _ . + = , -")
    return text


def folder(text: str) -> Path:
    """Checks a folder that fairseq's programs read or write."""
    problem = folder_problem(Path(text))
    if problem:
        raise argparse.ArgumentTypeError(problem)
    return Path(text)


# -- options of several commands, and what they print ------------------------------------------


def add_user_dir(parser: argparse.ArgumentParser) -> None:
    """Adds ``--user-dir``; reading the value imports the folders."""
    parser.add_argument(
        "--user-dir",
        type=user_dirs,
        metavar="DIR[,DIR]",
        help="folders, or installed packages, with mechanisms of your own; they are imported, so "
        "give only code that you trust",
    )


def user_dirs(text: str) -> str:
    """Imports folders with mechanisms of the user's own; several by commas."""
    from ...extension import import_user_dirs

    try:
        import_user_dirs(text, flag="")
    except UserError as error:  # argparse would hide its message
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def add_ensemble(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--with",
        dest="ensemble",
        nargs="+",
        type=Path,
        default=(),
        metavar="RUN",
        help="further runs with the same dictionaries: their models translate together, as an "
        "ensemble",
    )


def add_json(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def print_json(facts: Any) -> None:
    """Prints JSON, with escapes where the output is not in UTF-8."""
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    print(json.dumps(facts, indent=2, ensure_ascii=ascii_only), flush=True)


def add_forms(parser: argparse.ArgumentParser, *forms: str) -> None:
    """Adds ``--json`` and other forms of a table, ``latex`` or ``markdown``, and ``--columns``."""
    group = parser.add_mutually_exclusive_group()
    add_json(group)
    for form in forms:
        group.add_argument(f"--{form}", action="store_true", help="print this form of the table")
    parser.add_argument(
        "--columns",
        type=listed,
        metavar="NAMES",
        help="columns, separated by commas; default: all, and in LaTeX those that fit a page",
    )


def print_columns(columns: NamedColumns, names: Sequence[str]) -> None:
    """Prints the cells of these columns as JSON."""
    print_json([{name: row[name] for name in names} for row in columns.rows])


def form_of(args: argparse.Namespace) -> Form:
    from ..table import LATEX, MARKDOWN, TEXT

    if args.latex:
        return LATEX
    return MARKDOWN if getattr(args, "markdown", False) else TEXT


def add_plot(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--plot",
        type=figure_path,
        metavar="FILE",
        help=f"draw a figure: {', '.join(FIGURES)}; a name without ending becomes .png and .svg",
    )


def figure_path(text: str) -> Path:
    path = Path(text)
    if path.suffix and path.suffix.lower() not in FIGURES:
        raise argparse.ArgumentTypeError(f"{text!r} ends in none of {', '.join(FIGURES)}")
    return path


def add_plain_text(parser: argparse.ArgumentParser) -> None:
    """Adds the options of plain text of any toolkit, except ``--reference``."""
    from ...text.languages import language
    from ..raw_text.tokenizers import TOKENIZERS

    parser.add_argument("--tokenized-reference", metavar="FILE", help=HELP["--tokenized-reference"])
    parser.add_argument("--target-lang", type=language, metavar="LANG", help="a run knows its own")
    parser.add_argument("--tokenizer", choices=TOKENIZERS, help=HELP["--tokenizer"])
    parser.add_argument(
        "--tokenized", action="store_true", help="the plain text is tokenised, without BPE"
    )
    parser.add_argument("--truecased", action="store_true", help=HELP["--truecased"])


# -- options of recipes ------------------------------------------------------------------------


def add_common(parser: argparse.ArgumentParser) -> None:
    add_user_dir(parser)
    parser.add_argument("--out", type=folder, metavar="DIR", help=HELP["--out"])
    parser.add_argument("--sample", type=number(20), metavar="N", help=HELP["--sample"])
    parser.add_argument(
        "--dry-run", action="store_true", help="print a shell script with the commands, run none"
    )


def add_text(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--raw", type=existing_folder, metavar="DIR", help=HELP["--raw"])
    parser.add_argument(
        "--downloads",
        type=Path,
        metavar="DIR",
        default=Path(os.environ.get("DC_NMT_DOWNLOADS", "runs/downloads")),
        help=HELP["--downloads"],
    )
    parser.add_argument("--any-counts", action="store_true", help=HELP["--any-counts"])


def add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--size", metavar="SIZE", help=HELP["--size"])
    parser.add_argument("--like", metavar="NAME", help=HELP["--like"])
    parser.add_argument("--seed", type=number(0), default=1, help="random seed; default: 1")
    parser.add_argument("--name", type=folder_name, help=HELP["--name"])
    parser.add_argument("--average", type=number(0), metavar="N", help=HELP["--average"])


def add_training(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max-update", type=number(1), metavar="N", help=HELP["--max-update"])
    parser.add_argument("--max-tokens", type=number(1), metavar="N", help=HELP["--max-tokens"])
    parser.add_argument("--update-freq", type=number(1), metavar="N", help=HELP["--update-freq"])
    parser.add_argument("--fp32", action="store_true", help=HELP["--fp32"])
