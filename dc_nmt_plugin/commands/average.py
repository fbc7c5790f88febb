"""``dc-nmt average``: writes a checkpoint with the mean parameters of several checkpoints.

fairseq's ``scripts/average_checkpoints.py`` is not part of the installed package, and loads
with the unsafe unpickler.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError
from ..files import replacing
from .parser import Parser


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt average``."""
    parser = Parser(prog="dc-nmt average", description=__doc__)
    inputs = parser.add_mutually_exclusive_group(required=True)
    inputs.add_argument("--inputs", nargs="+", type=Path, metavar="FILE")
    inputs.add_argument("--dir", type=Path, help="folder of fairseq's --save-dir")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--last", type=_positive, metavar="N", help="average the last N of --dir")
    choice.add_argument(
        "--best",
        type=_positive,
        metavar="N",
        help="average the N best of --dir (--keep-best-checkpoints)",
    )
    choice.add_argument(
        "--updates",
        type=_interval,
        metavar="A:B",
        help="average those of --dir saved at updates A to B",
    )
    parser.add_argument(
        "--kind", choices=("epoch", "update"), help="kind of checkpoint that --last counts"
    )
    parser.add_argument("--output", required=True, type=Path, metavar="FILE")
    args = parser.parse_args(argv)
    chosen = [flag for flag in ("last", "best", "updates") if getattr(args, flag) is not None]
    if args.inputs and (chosen or args.kind):
        parser.error(f"--{(chosen or ['kind'])[0]} goes with --dir, not with --inputs")
    if args.kind and args.last is None:
        parser.error("--kind goes with --last")

    import torch

    from ..checkpoints.averaging import average_checkpoints, find_checkpoints

    paths = args.inputs or find_checkpoints(
        args.dir, last=args.last, best=args.best, updates=args.updates, kind=args.kind
    )
    state = average_checkpoints(paths)
    try:
        with replacing(args.output) as temporary:
            torch.save(state, temporary)
    except (OSError, RuntimeError) as error:  # torch reports a full disk as RuntimeError
        raise UserError(f"cannot write {args.output}: {error}") from error
    print(f"{args.output}: mean of {', '.join(path.name for path in paths)}")
    return 0


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a positive whole number")
    return int(text)


def _interval(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+):(\d+)", text)
    if not match or int(match[1]) > int(match[2]):
        raise argparse.ArgumentTypeError(f"{text} is not A:B with A not above B")
    return int(match[1]), int(match[2])
