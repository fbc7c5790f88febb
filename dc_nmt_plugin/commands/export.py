"""``dc-nmt export``: removes auxiliary decoders, or converts for another program.

Auxiliary decoders without fusion only help in training. Without them, the translations are the
same, and the model is as large as the plain Transformer. If everything else is standard too,
--stock writes fairseq's own transformer, which loads without this plugin. --ctranslate2 writes a
folder for CTranslate2, and --hf one for Hugging Face's transformers (FSMT). None of these programs
can compute the other architectures. Several checkpoints are averaged first.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .average import add_checkpoints, chosen_checkpoints, save_checkpoint
from .parser import Parser

FORMS = ("--stock", "--ctranslate2", "--hf")


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
    form.add_argument(
        "--hf", action="store_true",
        help="write a folder for Hugging Face's transformers, with its tokeniser; needs --data",
    )  # fmt: skip
    parser.add_argument("--data", type=Path, help="folder with the dictionaries of the model")
    parser.add_argument(
        "--quantization",
        metavar="TYPE",
        help="number format for CTranslate2: int8, float16, …; default: float32",
    )
    args = parser.parse_args(argv)
    if args.ctranslate2 != (args.data is not None) and not (args.hf and args.data):
        parser.error(f"{'--hf' if args.hf else '--ctranslate2'} and --data go together")
    if args.quantization and not args.ctranslate2:
        parser.error("--quantization goes with --ctranslate2")

    from ..checkpoints.ctranslate2 import to_ctranslate2
    from ..checkpoints.loading import check_finite
    from ..models.transformer.stock_checkpoint import count_parameters, drop_auxiliary, to_stock

    state, name = _load(args)
    check_finite(name, state["model"])
    drop_auxiliary(state, name)
    parameters = count_parameters(state["model"])
    flag = next((flag for flag in FORMS if getattr(args, flag.strip("-"))), None)
    if flag:
        state = to_stock(state, name, flag)
    if args.hf:
        return _to_hugging_face(state, args, name, parameters)
    if args.ctranslate2:
        to_ctranslate2(state, args.data, args.out, args.quantization, name)
        print(f"{args.out}: {parameters:,} parameters, for ctranslate2.Translator")
        return 0
    save_checkpoint(state, args.out)
    print(f"{args.out}: {parameters:,} parameters")
    return 0


def _to_hugging_face(
    state: dict[str, Any], args: argparse.Namespace, name: str, parameters: int
) -> int:
    from ..analysis.sentence import codes_of
    from ..checkpoints.dictionaries import languages_of
    from ..checkpoints.hugging_face import to_hugging_face

    languages = languages_of(state, args.data, name)
    codes = codes_of(args.data, languages[0])
    to_hugging_face(state, args.data, languages, codes, args.out, name)
    print(f"{args.out}: {parameters:,} parameters, for transformers.FSMTForConditionalGeneration")
    return 0


def _load(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Returns a checkpoint, or the mean of several, and the path of the (last) one."""
    from ..checkpoints.averaging import average_checkpoints
    from ..checkpoints.loading import load_checkpoint
    from ..checkpoints.names import of_run

    first = args.checkpoints[0]
    own = of_run(first)
    chosen = (args.last, args.best, args.updates, args.kind) != (None,) * 4
    paths = [own] if own and not chosen else chosen_checkpoints(args)
    if len(paths) == 1:
        return load_checkpoint(str(paths[0])), str(paths[0])
    return average_checkpoints(paths), str(paths[-1])
