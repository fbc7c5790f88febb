"""``dc-nmt average``: writes a checkpoint with the mean parameters of several checkpoints."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError, UserError
from ..files import replacing
from .parser import Parser, number


def main(argv: Sequence[str]) -> int:
    """Averages checkpoints."""
    parser = Parser(prog="dc-nmt average", description=__doc__)
    add_checkpoints(parser)
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="output file")
    args = parser.parse_args(argv)

    from ..checkpoints.averaging import average_checkpoints

    paths = chosen_checkpoints(args)
    save_checkpoint(average_checkpoints(paths), args.out)
    print(f"{args.out}: mean of {', '.join(path.name for path in paths)}")
    return 0


def add_checkpoints(parser: argparse.ArgumentParser) -> None:
    """Adds the options that choose checkpoints, for :func:`chosen_checkpoints`."""
    parser.add_argument(
        "checkpoints", nargs="+", type=Path, metavar="CHECKPOINT|FOLDER",
        help="checkpoints, or the folder of a run or of fairseq's --save-dir",
    )  # fmt: skip
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--last", type=number(1), metavar="N", help="average the last N of the folder"
    )
    choice.add_argument(
        "--updates", type=_interval, metavar="A:B",
        help="average those of the folder saved at updates A to B",
    )  # fmt: skip
    parser.add_argument(
        "--kind", choices=("epoch", "update"), help="kind of checkpoint that --last counts"
    )


def chosen_checkpoints(args: argparse.Namespace) -> list[Path]:
    """Returns the files that the options of :func:`add_checkpoints` choose.

    Raises:
        UserError: options that have no effect, or checkpoints that are not there
    """
    from ..checkpoints.averaging import find_checkpoints

    first, *others = args.checkpoints
    choice = {flag: getattr(args, flag) for flag in ("last", "updates")}
    flags = [flag for flag, value in choice.items() if value is not None]
    if args.kind and flags != ["last"]:
        raise UsageError("--kind: goes with --last")
    if flags and (others or first.is_file()):
        raise UsageError(
            f"--{flags[0]}: goes with one folder, and {first} is a file or one of several"
        )
    if not flags and not first.is_dir():
        return list(args.checkpoints)
    inside = first / "checkpoints"  # of a run
    return find_checkpoints(inside if inside.is_dir() else first, kind=args.kind, **choice)


def save_checkpoint(state: dict[str, Any], path: Path) -> None:
    """Writes a checkpoint, whole or not at all.

    Raises:
        UserError: the file cannot be written
    """
    import torch

    try:
        with replacing(path) as temporary:
            torch.save(state, temporary)
    except (OSError, RuntimeError) as error:  # torch reports a full disk as RuntimeError
        raise UserError(f"cannot write {path}: {error}") from error


def _interval(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+):(\d+)", text)
    if not match or int(match[1]) > int(match[2]):
        raise argparse.ArgumentTypeError(f"{text} is not A:B with A not above B")
    return int(match[1]), int(match[2])
