"""``dc-nmt check-text``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError
from ..recipes.fixing import fix
from ..table import format_table
from ..text.gate import UNUSABLE, as_table, check_lines, look_at, refuse
from ..text.lines import check_same_count, read_lines
from ..text.scan import scan
from .parser import Parser


def parser() -> Parser:
    """Returns the options of the command."""
    parser = Parser(
        prog="dc-nmt check-text",
        usage="dc-nmt check-text [--fix FOLDER] SOURCE TARGET [SOURCE TARGET ...]\n"
        "       dc-nmt check-text --counts FILE FILE [FILE FILE ...]\n"
        "       dc-nmt check-text --lengths N,N,… FILE",
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
    parser.add_argument(
        "--lengths", metavar="N,N,…",
        help="count the lines of one FILE alone, in groups that begin with these numbers of words",
    )  # fmt: skip
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt check-text``: checks text files for training and scoring."""
    options = parser()
    args = options.parse_args(argv)
    files: list[Path] = args.files
    if args.lengths:
        if len(files) > 1 or args.counts or args.fix:
            options.error("--lengths: goes with one FILE, and without --counts and --fix")
        print(_lengths(files[0], args.lengths))
        return 0
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


def _lengths(path: Path, edges: str) -> str:
    """Returns a table of the numbers of lines by words (pieces, in segmented text)."""
    from ..evaluation.buckets import group_by_length, parse_edges

    starts = parse_edges("--lengths", edges)
    lengths = [len(line.split()) for line in read_lines(path)]
    if not lengths:
        raise UserError(f"{path}: is empty")
    rows = [
        (group.label, f"{group.sentences:,}", f"{100 * group.sentences / len(lengths):.1f}")
        for group, _ in group_by_length(lengths, starts)
    ]
    about = f"{len(lengths):,} lines, {min(lengths)} to {max(lengths)} words"
    mean = f"{sum(lengths) / len(lengths):.2f} on average"
    return f"{format_table(('words', 'lines', '%'), rows)}\n\n{path}: {about}, {mean}"


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
