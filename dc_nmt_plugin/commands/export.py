"""``dc-nmt export``: removes auxiliary decoders, or converts for stock fairseq or CTranslate2.

Auxiliary decoders without fusion only help in training. Without them, the translations are the
same, and the model is as large as the plain Transformer. If everything else is standard too,
--stock writes fairseq's own transformer, which loads without this plugin, and --ctranslate2 writes
a folder for CTranslate2. Neither program can compute the other architectures.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..files import replacing
from .parser import Parser


def main(argv: Sequence[str]) -> int:
    """Writes the checkpoint."""
    parser = Parser(prog="dc-nmt export", description=__doc__)
    parser.add_argument("--input", required=True, type=Path, help="a checkpoint, or a --save-dir")
    parser.add_argument(
        "--output", required=True, type=Path, metavar="FILE", help="output file, or a folder"
    )
    parser.add_argument(
        "--average",
        metavar="last:N|best:N|FILE,FILE…",
        help="first average checkpoints of the folder --input, or these files in it",
    )
    parser.add_argument(
        "--kind",
        choices=("epoch", "update"),
        help="kind of checkpoint for last:N, if the folder has both",
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
    if args.kind and not (args.average or "").startswith("last:"):
        parser.error("--kind goes with --average last:N")
    if args.quantization and not args.ctranslate2:
        parser.error("--quantization goes with --ctranslate2")

    import torch

    from ..checkpoints.ctranslate2 import to_ctranslate2
    from ..checkpoints.loading import check_finite
    from ..models.transformer.stock_checkpoint import count_parameters, drop_auxiliary, to_stock

    state = _load(args.input, args.average, args.kind)
    name = str(args.input)
    check_finite(name, state["model"])
    drop_auxiliary(state, name)
    parameters = count_parameters(state["model"])
    if args.stock or args.ctranslate2:
        state = to_stock(state, name, "--stock" if args.stock else "--ctranslate2")
    if args.ctranslate2:
        to_ctranslate2(state, args.data, args.output, args.quantization, name)
        print(f"{args.output}: {parameters:,} parameters, for ctranslate2.Translator")
        return 0
    try:
        with replacing(args.output) as temporary:
            torch.save(state, temporary)
    except (OSError, RuntimeError) as error:  # torch reports a full disk as RuntimeError
        raise UserError(f"cannot write {args.output}: {error}") from error
    print(f"{args.output}: {parameters:,} parameters")
    return 0


def _load(path: Path, average: str | None, chosen: str | None) -> dict[str, Any]:
    from ..checkpoints.averaging import average_checkpoints, find_checkpoints
    from ..checkpoints.loading import load_checkpoint

    if average is None:
        if path.is_dir():
            raise UserError(f"--input {path}: is a folder; name a checkpoint, or give --average")
        return load_checkpoint(str(path))
    kind, _, number = average.partition(":")
    if kind in ("last", "best") and number.isdecimal() and int(number) > 0:
        last, best = (int(number), None) if kind == "last" else (None, int(number))
        return average_checkpoints(find_checkpoints(path, last=last, best=best, kind=chosen))
    if ":" in average:
        raise UserError(f"--average {average!r}: is not last:N, best:N or a list of files")
    return average_checkpoints([path / name for name in average.split(",")])
