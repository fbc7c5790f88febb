"""``dc-nmt average``: writes a checkpoint with the mean parameters of several checkpoints."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from ...errors import notify
from .parser import Parser, add_user_dir, number


def main(argv: Sequence[str]) -> int:
    args = _parse(argv)

    from ..averaging import average_checkpoints, find_checkpoints
    from ..inference.packing import save_checkpoint

    paths = args.checkpoints
    if args.last is not None or paths[0].is_dir():
        inside = paths[0] / "checkpoints"  # of a run
        folder = inside if inside.is_dir() else paths[0]
        paths = find_checkpoints(folder, last=args.last, kind=args.kind)
    save_checkpoint(average_checkpoints(paths), args.out, paths)
    names = [path.name for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    notify(f"{args.out}: mean of {', '.join(names)}", out=True)
    return 0


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = Parser(prog="dc-nmt average", description=__doc__)
    parser.add_argument(
        "checkpoints",
        nargs="+",
        type=Path,
        metavar="CHECKPOINT|FOLDER",
        help="checkpoints, or the folder of a run or of fairseq's --save-dir",
    )
    parser.add_argument(
        "--last", type=number(1), metavar="N", help="average the last N of the folder"
    )
    parser.add_argument(
        "--kind", choices=("epoch", "update"), help="kind of checkpoint that --last counts"
    )
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="output file")
    add_user_dir(parser)
    args: argparse.Namespace = parser.parse_args(argv)
    return args
