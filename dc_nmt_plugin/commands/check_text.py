"""``dc-nmt check-text``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError
from ..recipes.fixing import fix
from ..table import format_table
from ..text.gate import UNUSABLE, as_table, check_lines, look_at, refuse
from ..text.lines import check_same_count
from ..text.scan import scan
from .parser import Parser


def parser() -> Parser:
    """Returns the options of the command."""
    parser = Parser(
        prog="dc-nmt check-text",
        usage="dc-nmt check-text [--fix FOLDER] SOURCE TARGET [SOURCE TARGET ...]\n"
        "       dc-nmt check-text --counts FILE FILE [FILE FILE ...]",
        description="Lists all problems that make training or scores wrong, with their counts and "
        "first lines. The files are pairs with one sentence per line, or one file. The training "
        "text comes first, then validation and test text.",
        epilog="The exit status is 1 where a problem makes the text unusable.",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="plain or gzipped")
    parser.add_argument(
        "--fix", type=Path, metavar="FOLDER",
        help="write repaired files into FOLDER: line ends, wrong encoding, invisible and control "
        "characters, entities, IWSLT and SGM markup; unusable pairs are left out",
    )  # fmt: skip
    parser.add_argument(
        "--counts", action="store_true",
        help="compare numbers of lines alone: FILE, and what a tool made of it (text, or an .idx "
        "of fairseq-preprocess)",
    )  # fmt: skip
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt check-text``: checks text files for training and scoring."""
    options = parser()
    args = options.parse_args(argv)
    files: list[Path] = args.files
    if len(files) % 2 and (len(files) > 1 or args.counts):
        options.error(f"{len(files)} files given, but they are checked in pairs")
    if args.counts and args.fix:
        options.error("--fix and --counts exclude each other: --counts changes nothing")
    groups = [files[n : n + 2] for n in range(0, len(files), 2)]
    if args.counts:
        for before, after in groups:
            check_same_count(before, after)
        return 0
    for group in groups:
        if len(set(group)) < len(group):
            raise UserError(f"{group[0]}: given as both source and target")
    if args.fix:
        groups = _fix(groups, args.fix)
    scans, findings = look_at(groups)
    if findings:
        print(as_table(findings), end="\n\n")
    for seen in scans:
        check_lines(seen)
    refuse(findings, UNUSABLE)
    for seen in scans:
        names = " and ".join(each.name for each in seen)
        print(f"{names}: {seen[0].lines} {'pairs' if len(seen) == 2 else 'lines'}")
    return 0


def _fix(groups: Sequence[Sequence[Path]], folder: Path) -> list[list[Path]]:
    """Returns the repaired files; prints the changes."""
    made, rows = [], []
    for group in groups:
        files, done = fix([scan(path) for path in group], folder)
        made.append(files)
        rows += [(file, what, f"{lines:,}") for (file, what), lines in done.items() if lines]
    if rows:
        print(format_table(("file", "fixed", "lines"), rows), end="\n\n")
    print(f"written: {', '.join(str(path) for group in made for path in group)}\n")
    return made
