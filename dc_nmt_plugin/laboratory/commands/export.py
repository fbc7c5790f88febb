"""``dc-nmt export``: removes auxiliary decoders, or converts for another program.

Auxiliary decoders without fusion only help in training. Without them, the translations are the
same, and the model is as large as the plain Transformer. If everything else is standard too,
--stock writes fairseq's own transformer, which loads without this plugin, and --ctranslate2 a
folder for CTranslate2. Neither can compute the other architectures. Average several
checkpoints first, with dc-nmt average.

--run packs a run into a folder that can be moved or given to others.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from ...errors import notify
from ...files import making
from .parser import Parser, add_user_dir


def main(argv: Sequence[str]) -> int:
    args = _parse(argv)
    if args.run:
        _pack(args)
    else:
        _convert(args)
    return 0


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    keep_paragraphs = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="dc-nmt export", description=__doc__, formatter_class=keep_paragraphs)
    parser.add_argument(
        "model",
        type=Path,
        metavar="CHECKPOINT|RUN",
        help="a checkpoint, or the folder of a run or of fairseq's --save-dir",
    )
    output = parser.add_mutually_exclusive_group(required=True)
    output.add_argument("--out", type=Path, metavar="FILE", help="output file, or a folder")
    output.add_argument(
        "--run",
        type=Path,
        metavar="DIR",
        help="write the whole run: record, translations, learning curve, and the model in half "
        "precision with dictionaries and codes. dc-nmt translate works with this folder, "
        "wherever it is",
    )
    parser.add_argument(
        "--no-model", action="store_true", help="with --run: leave the model out, for tables"
    )
    parser.add_argument(
        "--bpe-codes", type=Path, metavar="FILE", help="with --run: if they are not with the data"
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
    add_user_dir(parser)
    args: argparse.Namespace = parser.parse_args(argv)
    if args.ctranslate2 and args.data is None:
        parser.error("--ctranslate2: needs --data")
    return args


def _convert(args: argparse.Namespace) -> None:
    from ...checkpoints.loading import check_finite, load_checkpoint
    from ...checkpoints.mechanisms import check_code
    from ...checkpoints.names import of_run
    from ...models.transformer.stock import drop_auxiliary, to_stock
    from ..inference.packing import save_checkpoint

    path = of_run(args.model) or args.model
    name = str(path)
    state = load_checkpoint(name)
    check_finite(name, state["model"])
    check_code(name, state)
    drop_auxiliary(state, name)
    if args.stock or args.ctranslate2:
        state = to_stock(state, name, "--stock" if args.stock else "--ctranslate2")
    if args.ctranslate2:
        from ..inference.ctranslate2 import to_ctranslate2

        with making(args.out) as part:
            to_ctranslate2(state, args.data, part, args.quantization, name)
        notify(f"{args.out}: for ctranslate2.Translator", out=True)
    else:
        save_checkpoint(state, args.out, [path])
        notify(args.out, out=True)


def _pack(args: argparse.Namespace) -> None:
    from ..inference.packing import pack
    from ..inference.trained_run import find_runs
    from ..raw_text.codes import check_codes

    if args.no_model:
        pack(args.model, args.run, None, args.bpe_codes)
        notify(f"{args.run}: the run without its model", out=True)
        return
    (run,) = find_runs([args.model], args.data)
    if args.bpe_codes:
        check_codes(args.bpe_codes, run.data / f"dict.{run.task['source_lang']}.txt")
    pack(run.folder, args.run, run, args.bpe_codes)
    notify(f"{args.run}: the whole run", out=True)
