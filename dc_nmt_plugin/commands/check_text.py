"""``dc-nmt check-text``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..text.lines import check_parallel, check_same_count, mend_file
from .parser import Parser


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt check-text``: are pairs of files usable as parallel text?"""
    parser = Parser(
        prog="dc-nmt check-text",
        description="Check pairs of files of one sentence a line: UTF-8, as many lines in both, "
        "no line blank, and no character that some tools take for the end of a line.",
    )
    parser.add_argument(
        "--mend", action="store_true",
        help="first replace such characters by spaces, in the files themselves",
    )  # fmt: skip
    parser.add_argument("files", nargs="+", type=Path, metavar="SOURCE TARGET")
    parser.add_argument(
        "--counts", action="store_true",
        help="compare numbers of lines alone: FILE, and what a tool made of it (text, or an .idx "
        "of fairseq-preprocess)",
    )  # fmt: skip
    args = parser.parse_args(argv)
    files = args.files
    if len(files) % 2:
        parser.error(f"{len(files)} files given, but they are checked in pairs")
    if args.counts and args.mend:
        parser.error("--mend and --counts exclude each other: --counts changes nothing")
    if args.counts:
        for before, after in zip(files[::2], files[1::2], strict=True):
            check_same_count(before, after)
        return 0
    for path in files if args.mend else ():
        if changed := mend_file(path):
            print(f"{path}: {changed} lines mended")
    for source, target in zip(files[::2], files[1::2], strict=True):
        print(f"{source} and {target}: {check_parallel(source, target)} pairs")
    return 0
