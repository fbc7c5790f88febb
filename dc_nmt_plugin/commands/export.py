"""``dc-nmt export``: removes auxiliary decoders, or converts for stock fairseq or CTranslate2.

Auxiliary decoders without fusion only help in training. Without them, the translations are the
same, and the model is as large as the plain Transformer. If everything else is standard too,
--stock writes fairseq's own transformer, which loads without this plugin, and --ctranslate2 writes
a folder for CTranslate2. Neither program can compute the other architectures. Several checkpoints
are averaged first.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .average import add_checkpoints, chosen_checkpoints, save_checkpoint
from .parser import Parser


def main(argv: Sequence[str]) -> int:
    """Writes the checkpoint."""
    parser = Parser(prog="dc-nmt export", description=__doc__)
    add_checkpoints(parser)
    parser.add_argument(
        "--out", required=True, type=Path, metavar="FILE", help="output file, or a folder"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--stock", action="store_true", help="write fairseq's own transformer")
    form.add_argument(
        "--ctranslate2", action="store_true", help="write a folder for CTranslate2; needs --data"
    )
    parser.add_argument("--data", type=Path, help="folder with the dictionaries of the model")
    parser.add_argument(
        "--quantization",
        metavar="TYPE",
        help="number format for CTranslate2: int8, float16, …; default: float32",
    )
    args = parser.parse_args(argv)
    if args.ctranslate2 != (args.data is not None):
        parser.error("--ctranslate2 and --data go together")
    if args.quantization and not args.ctranslate2:
        parser.error("--quantization goes with --ctranslate2")

    from ..checkpoints.ctranslate2 import to_ctranslate2
    from ..checkpoints.loading import check_finite
    from ..models.transformer.stock_checkpoint import count_parameters, drop_auxiliary, to_stock

    state, name = _load(args)
    check_finite(name, state["model"])
    drop_auxiliary(state, name)
    parameters = count_parameters(state["model"])
    if args.stock or args.ctranslate2:
        state = to_stock(state, name, "--stock" if args.stock else "--ctranslate2")
    if args.ctranslate2:
        to_ctranslate2(state, args.data, args.out, args.quantization, name)
        print(f"{args.out}: {parameters:,} parameters, for ctranslate2.Translator")
        return 0
    save_checkpoint(state, args.out)
    print(f"{args.out}: {parameters:,} parameters")
    return 0


def _load(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Returns a checkpoint, or the mean of several, and the path of the (last) one."""
    from ..analysis.subject import CHECKPOINTS
    from ..checkpoints.averaging import average_checkpoints
    from ..checkpoints.loading import load_checkpoint

    first = args.checkpoints[0]
    own = next((first / name for name in CHECKPOINTS if (first / name).is_file()), None)
    chosen = (args.last, args.best, args.updates, args.kind) != (None,) * 4
    paths = [own] if own and not chosen else chosen_checkpoints(args)
    if len(paths) == 1:
        return load_checkpoint(str(paths[0])), str(paths[0])
    return average_checkpoints(paths), str(paths[-1])
