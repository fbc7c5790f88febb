"""``dc-nmt export``: removes auxiliary decoders, or converts for another program.

Auxiliary decoders without fusion only help in training. Without them, the translations are the
same, and the model is as large as the plain Transformer. If everything else is standard too,
--stock writes fairseq's own transformer, which loads without this plugin. --ctranslate2 writes a
folder for CTranslate2, and --hf one for Hugging Face's transformers (FSMT). None of these programs
can compute the other architectures. Several checkpoints are averaged first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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
    for flag, about in (
        ("--stock", "write fairseq's own transformer"),
        ("--ctranslate2", "write a folder for CTranslate2; needs --data"),
        (
            "--hf",
            "write a folder for transformers, with its tokeniser; needs --data",
        ),
    ):
        form.add_argument(flag, dest="form", action="store_const", const=flag, help=about)
    parser.add_argument("--data", type=Path, help="folder with the dictionaries of the model")
    parser.add_argument(
        "--quantization", metavar="TYPE",
        help="number format for CTranslate2: int8, float16, …; default: float32",
    )  # fmt: skip
    args = parser.parse_args(argv)
    if (args.data is not None) != (args.form in ("--ctranslate2", "--hf")):
        parser.error(f"{'--hf' if args.form == '--hf' else '--ctranslate2'} and --data go together")
    if args.quantization and args.form != "--ctranslate2":
        parser.error("--quantization goes with --ctranslate2")

    from ..checkpoints.averaging import average_checkpoints
    from ..checkpoints.loading import check_finite, load_checkpoint
    from ..checkpoints.names import of_run
    from ..models.transformer.stock_checkpoint import drop_auxiliary, to_stock

    own = of_run(args.checkpoints[0])
    chosen = any((args.last, args.updates, args.kind))
    paths = [own] if own and not chosen else chosen_checkpoints(args)
    name = str(paths[-1])
    state = load_checkpoint(name) if len(paths) == 1 else average_checkpoints(paths)
    check_finite(name, state["model"])
    drop_auxiliary(state, name)
    if args.form:
        state = to_stock(state, name, args.form)
    if args.form == "--ctranslate2":
        from ..checkpoints.ctranslate2 import to_ctranslate2

        to_ctranslate2(state, args.data, args.out, args.quantization, name)
        print(f"{args.out}: for ctranslate2.Translator")
    elif args.form == "--hf":
        from ..analysis.sentence import codes_of
        from ..checkpoints.dictionaries import languages_of
        from ..checkpoints.hugging_face import to_hugging_face

        languages = languages_of(state, args.data, name)
        codes = codes_of(args.data, languages[0])
        to_hugging_face(state, args.data, languages, codes, args.out, name)
        print(f"{args.out}: for transformers.FSMTForConditionalGeneration")
    else:
        save_checkpoint(state, args.out)
        print(args.out)
    return 0
