"""``dc-nmt new``: writes a recipe for your own text."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import notify
from ...text.languages import language
from ...text.segmentation import SEGMENTERS, SUBWORD_NMT
from .parser import Parser, number, values_of

HELP = {
    "folder": "is made; also the recipe's name",
    "archs": "what dc-nmt run FOLDER trains; default: transformer_standard",
    "--train": "such as a.de a.en: from German to English",
    "--bpe": "number of BPE operations, or of pieces; default: by the number of pairs",
    "--segment": "what makes pieces of the text: subword-nmt of words (the default), or "
    "sentencepiece of raw text, such as Japanese or Thai, which has no spaces between words",
    "--like": "take segmentation, sizes, updates, batches, dropout and decoding from this task "
    "(dc-nmt recipe list), or from another folder of dc-nmt new",
    "--codes": "codes of subword-nmt or a model of sentencepiece that you have: one for both "
    "languages, or those of source and target",
    "--dictionary": "dictionaries of fairseq for the pieces of --codes, in the same way; default: "
    "made of the text",
    "--data-bin": "train on a folder of fairseq-preprocess, instead of --train; dc-nmt translate "
    "needs its --codes, too",
    "--from": "fine-tune this run: its architecture, settings, codes, dictionaries, tokeniser and "
    "model, a learning rate ten times lower, ten epochs of --train",
}


def parser() -> Parser:
    parser = Parser(
        prog="dc-nmt new",
        description="Writes a recipe for your own text into a new folder. The number of pairs "
        "decides the segmentation, the size of the model and the number of updates. Then dc-nmt "
        "prepare FOLDER, train, evaluate and run work as with a published task.",
        epilog="Files have one sentence a line, in UTF-8, plain or gzipped.",
    )
    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help=HELP["folder"])
    add("archs", nargs="*", metavar="ARCH", help=HELP["archs"])
    files: dict[str, Any] = {"type": Path, "nargs": 2, "metavar": ("SOURCE", "TARGET")}
    text = parser.add_mutually_exclusive_group(required=True)
    text.add_argument("--train", default=(), help=HELP["--train"], **files)
    text.add_argument("--data-bin", type=Path, metavar="DIR", help=HELP["--data-bin"])
    for split in ("valid", "test"):
        add(f"--{split}", help="default: held out of --train", **files)
    add("--source-lang", type=language, metavar="CODE", help="default: the file's ending")
    add("--target-lang", type=language, metavar="CODE", help="the same")
    add("--tokenized", action="store_true", help="words are separated by spaces already")
    add("--bpe", type=number(1), metavar="N", help=HELP["--bpe"])
    add("--segment", choices=SEGMENTERS, default=SUBWORD_NMT.name, help=HELP["--segment"])
    add("--like", metavar="TASK", help=HELP["--like"])
    existing: dict[str, Any] = {"type": Path, "nargs": "+", "default": (), "metavar": "FILE"}
    add("--codes", help=HELP["--codes"], **existing)
    add("--dictionary", help=HELP["--dictionary"], **existing)
    add("--from", dest="start", type=Path, metavar="RUN", help=HELP["--from"])
    return parser


def main(argv: Sequence[str]) -> int:
    args = parser().parse_args(argv)
    from ..recipes.new_recipe import NewOptions, make_recipe

    recipe, notes = make_recipe(values_of(NewOptions, args))
    notify(*notes, "", f"{recipe.path} is yours to change. What comes next:", "", out=True)
    folder = shlex.quote(str(args.folder))
    print(f"  dc-nmt prepare {folder}    # the text alone")
    print(
        f"  dc-nmt run {folder}        # prepare, train, evaluate: {', '.join(recipe.task.archs)}"
    )
    print(f"  dc-nmt results {folder}    # the scores in a table")
    return 0
