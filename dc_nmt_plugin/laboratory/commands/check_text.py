"""``dc-nmt check-text``: checks text files for training and scoring."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...errors import UserError, counted, notify
from ...text.lines import opened
from ..raw_text.checks import UNUSABLE, refuse, scan_groups, shared_lines
from .parser import HELP, Parser


def main(argv: Sequence[str]) -> int:
    parser = Parser(
        prog="dc-nmt check-text",
        usage="dc-nmt check-text SOURCE TARGET [SOURCE TARGET ...]\n"
        "       dc-nmt check-text --counts FILE FILE [FILE FILE ...]",
        description="Lists all problems that make training or scores wrong, with their counts and "
        "first lines. The files are pairs with one sentence per line, or one file. The training "
        "text comes first, then validation and test text.",
        epilog="The exit status is 1 where a problem makes the text unusable.",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="plain or packed")
    parser.add_argument(
        "--counts", action="store_true",
        help="compare numbers of lines alone: FILE, and what a tool made of it (text, or an .idx "
        "of fairseq-preprocess)",
    )  # fmt: skip
    parser.add_argument("--report", type=Path, metavar="FILE", help=HELP["--report"])
    args = parser.parse_args(argv)
    files: list[Path] = args.files
    if len(files) % 2 and (len(files) > 1 or args.counts):
        parser.error(f"{counted(len(files), 'file')}, but they are checked in pairs")
    groups = [files[n : n + 2] for n in range(0, len(files), 2)]
    if args.counts:
        for before, after in groups:
            _check_same_count(before, after)
        return 0
    scans, findings = scan_groups(groups, args.report)
    if findings:
        notify(*findings, "", out=True)
    refuse(findings, UNUSABLE)
    for pair in scans:
        names = " and ".join(side.name for side in pair)
        lines = counted(pair[0].lines, "pair" if len(pair) == 2 else "line")
        notify(f"{names}: {lines}", *shared_lines(scans), out=True)
    return 0


def _check_same_count(before: Path, after: Path) -> None:
    """Raises UserError if a tool has written another number of lines."""
    lines, lines_after = _count(before), _count(after)
    if lines != lines_after:
        raise UserError(
            f"{before} has {counted(lines, 'line')} and what was made of it, {after}, "
            f"{lines_after:,}: a sentence was lost or split"
        )


def _count(path: Path) -> int:
    """Counts lines of text, or sentences of fairseq-preprocess, given its index."""
    with opened(path) as stream:
        if path.suffix == ".idx":
            stream.seek(18)  # behind fairseq's magic number, version and type of tokens
            return int.from_bytes(stream.read(8), "little")
        return sum(1 for _ in stream)
