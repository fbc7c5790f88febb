"""``dc-nmt new``: writes a recipe for your own text."""

from __future__ import annotations

import shlex
from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, counted, notify
from ...text.languages import language
from ...text.segmentation import SEGMENTERS
from .parser import HELP as OPTIONS
from .parser import Parser, number, values_of

if TYPE_CHECKING:
    from ..recipes.new_recipe import Added

FILES = ("--train", "--valid", "--test", "--codes", "--dictionary")
SETTINGS = ("repeat=", "tag=")  # of --add
HELP = {
    "folder": "is made; also the recipe's name",
    "archs": "what dc-nmt run FOLDER trains; default: transformer_standard",
    "--train": "such as a.de a.en: from German to English; or one downloaded file with both "
    "sides: TSV, TMX, JSON lines, a zip of two files",
    "--add": "further training text, which may be given several times: the files as of --train; "
    "repeat=N: the corpus stands N times in the training text; tag=WORD: is written before each "
    "source sentence, such as of back-translations",
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
        epilog="Files have one sentence a line, in UTF-8, plain or packed: .gz, .xz, .bz2, .zst.",
    )
    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help=HELP["folder"])
    add("archs", nargs="*", metavar="ARCH", help=HELP["archs"])
    files: dict[str, Any] = {"type": Path, "nargs": "+", "metavar": ("SOURCE", "TARGET")}
    text = parser.add_mutually_exclusive_group(required=True)
    text.add_argument("--train", default=(), help=HELP["--train"], **files)
    text.add_argument("--data-bin", type=Path, metavar="DIR", help=HELP["--data-bin"])
    for split in ("valid", "test"):
        add(f"--{split}", help="default: held out of --train", **files)
    words = ("FILE", "FILE repeat=N tag=WORD")
    add("--add", action="append", nargs="+", metavar=words, default=[], help=HELP["--add"])
    add("--source-lang", type=language, metavar="CODE", help="default: the file's ending")
    add("--target-lang", type=language, metavar="CODE", help="the same")
    add("--tokenized", action="store_true", help="words are separated by spaces already")
    add("--bpe", type=number(1), metavar="N", help=HELP["--bpe"])
    add("--segment", choices=SEGMENTERS, help=HELP["--segment"])
    add("--like", metavar="TASK", help=HELP["--like"])
    add("--report", type=Path, metavar="FILE", help=OPTIONS["--report"])
    existing: dict[str, Any] = {"type": Path, "nargs": "+", "default": (), "metavar": "FILE"}
    add("--codes", help=HELP["--codes"], **existing)
    add("--dictionary", help=HELP["--dictionary"], **existing)
    add("--from", dest="start", type=Path, metavar="RUN", help=HELP["--from"])
    return parser


def _arguments_first(argv: Sequence[str]) -> list[str]:
    """Moves words that follow the two files of an option before all options: FOLDER and ARCH."""
    front: list[str] = []
    rest: list[str] = []
    room = 0  # for further files of the last option
    for word in argv:
        if word.startswith("--"):
            room = 2 if word in FILES else len(argv)
            rest.append(word)
        elif room:
            room -= 1
            rest.append(word)
        else:
            front.append(word)
    return [*front, *rest]


def _added(words: Sequence[str]) -> Added:
    """Reads the words of ``--add``."""
    from ..recipes.new_recipe import Added

    files = [Path(word) for word in words if not word.startswith(SETTINGS)]
    settings = dict(word.split("=", 1) for word in words if word.startswith(SETTINGS))
    if len(files) not in (1, 2):
        raise UsageError(
            f"--add {shlex.join(words)}: names {counted(len(files), 'file')}; give two, or one "
            "with both sides, and then repeat=N and tag=WORD"
        )
    try:
        repeat = number(1)(settings.get("repeat", "1"))
    except ArgumentTypeError as error:
        raise UsageError(f"--add: repeat={error}") from error
    return Added(files, repeat, settings.get("tag", ""))


def main(argv: Sequence[str]) -> int:
    args = parser().parse_args(_arguments_first(argv))
    from ..recipes.new_recipe import NewOptions, make_recipe

    added = list(map(_added, args.add))
    recipe, notes = make_recipe(values_of(NewOptions, args, add=added))
    notify(*notes, "", f"{recipe.path} is yours to change. What comes next:", "", out=True)
    folder = shlex.quote(str(args.folder))
    print(f"  dc-nmt prepare {folder}    # the text alone")
    print(
        f"  dc-nmt run {folder}        # prepare, train, evaluate: {', '.join(recipe.task.archs)}"
    )
    print(f"  dc-nmt results {folder}    # the scores in a table")
    return 0
