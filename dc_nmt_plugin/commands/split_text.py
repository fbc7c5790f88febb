"""``dc-nmt split-text``: splits text reversibly at punctuation and digits.

Moses tokenisation cannot be undone for times, dates and fractions ("6:46" becomes "6: 46"), which
are frequent in the generated corpus. Here a space becomes the mark "▁" before its word, as in
SentencePiece. Then every change between letters, digits and punctuation is a split:
"21. Juni, 06:46" becomes "▁21 . ▁Juni , ▁06 : 46".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import UsageError, UserError
from ..files import write_lines
from ..text.lines import read_lines
from ..text.tokenizers import SPACE_MARK as MARK
from ..text.tokenizers import split_line
from .parser import Parser


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt split-text``."""
    parser = Parser(prog="dc-nmt split-text", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument(
        "--out",
        required=True,
        type=Path,
        metavar="DIR",
        help="output folder; the names of the files stay the same, unpacked",
    )
    parser.add_argument(
        "--fix", action="store_true",
        help=("replace characters that only some tools take for the end of a line by spaces"),
    )  # fmt: skip
    args = parser.parse_args(argv)
    _check_names(args.files, args.out)
    for path in args.files:
        lines = read_lines(path, fix=args.fix)
        for number, line in enumerate(lines, start=1):
            if MARK in line:
                raise UserError(f"{path}, line {number}: has {MARK!r}, the mark for a space")
        write_lines(args.out / _name(path), [split_line(line) for line in lines])
    return 0


def _name(path: Path) -> str:
    """Returns the name of the output file, which is never packed."""
    return path.name.removesuffix(".gz")


def _check_names(files: Sequence[Path], out: Path) -> None:
    """Refuses an output file that is an input or another output."""
    seen: dict[str, Path] = {}
    for path in files:
        name = _name(path)
        if name in seen:
            raise UserError(
                f"{seen[name]} and {path} would both become {out / name}: split them into two "
                "folders"
            )
        seen[name] = path
        if (out / name).resolve() == path.resolve():
            raise UsageError(f"--out {out}: {path} would be written over; choose another folder")
