"""``dc-nmt average``: writes a checkpoint with the mean parameters of several checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .parser import Parser, number


def main(argv: Sequence[str]) -> int:
    parser = Parser(prog="dc-nmt average", description=__doc__)
    parser.add_argument(
        "checkpoints", nargs="+", type=Path, metavar="CHECKPOINT|FOLDER",
        help="checkpoints, or the folder of a run or of fairseq's --save-dir",
    )  # fmt: skip
    parser.add_argument(
        "--last", type=number(1), metavar="N", help="average the last N of the folder"
    )
    parser.add_argument(
        "--kind", choices=("epoch", "update"), help="kind of checkpoint that --last counts"
    )
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="output file")
    args = parser.parse_args(argv)
    first, *others = paths = args.checkpoints
    if args.kind and args.last is None:
        parser.error("--kind: goes with --last")
    if args.last is not None and (others or first.is_file()):
        parser.error(f"--last: goes with one folder, and {first} is a file or one of several")

    from ..checkpoints.averaging import average_checkpoints, find_checkpoints
    from ..inference.saving import save_checkpoint

    if args.last is not None or first.is_dir():
        inside = first / "checkpoints"  # of a run
        folder = inside if inside.is_dir() else first
        paths = find_checkpoints(folder, last=args.last, kind=args.kind)
    save_checkpoint(average_checkpoints(paths), args.out, paths)
    print(f"{args.out}: mean of {', '.join(path.name for path in paths)}")
    return 0
