"""``dc-nmt recipe``: lists published tasks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from .parser import Parser, add_text, existing_folder, number


def main(argv: Sequence[str]) -> int:
    """Runs one of the subcommands; all but the first are steps of ``dc-nmt prepare``."""
    parser = Parser(prog="dc-nmt recipe", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list every task")
    listing.set_defaults(run=_list)
    text = commands.add_parser(
        "text", help="download, verify, tokenise and split the text of a task"
    )
    text.add_argument("task")
    text.add_argument("--out", required=True, type=Path, metavar="DIR", help="output folder")
    text.add_argument(
        "--work", required=True, type=Path, metavar="DIR", help="folder that is kept between calls"
    )
    text.add_argument("--sample", type=number(20), metavar="N", help="only about N training pairs")
    add_text(text)
    text.set_defaults(run=_text)
    learn = commands.add_parser("learn-pieces", help="learn how words or text are segmented")
    learn.add_argument("segmenter", help="the program of the codes: subword-nmt or sentencepiece")
    learn.add_argument("size", type=number(1), help="number of BPE operations, or of pieces")
    learn.add_argument("codes", type=Path, metavar="CODES")
    learn.add_argument("texts", type=Path, nargs="+", metavar="TEXT")
    learn.set_defaults(run=_learn)
    apply = commands.add_parser("apply-pieces", help="write the pieces of text")
    apply.add_argument("codes", type=Path, metavar="CODES")
    apply.add_argument("text", type=Path, metavar="TEXT")
    apply.add_argument("to", type=Path, metavar="FILE")
    apply.set_defaults(run=_apply)
    clean = commands.add_parser("clean", help="drop long and uneven training pairs after BPE")
    clean.add_argument("folder", type=existing_folder)
    clean.add_argument("languages", nargs=2, metavar="LANG")
    clean.add_argument("max_tokens", type=number(0))
    clean.add_argument("ratio", type=float)
    clean.add_argument("max_words", type=number(0), nargs="?", default=0)
    clean.set_defaults(run=_clean)
    args = parser.parse_args(argv)
    args.run(args)
    return 0


def _list(_: argparse.Namespace) -> None:
    from ..recipes.recipe import Recipe, tasks
    from ..table import format_table

    rows = [
        (name, Recipe(path, direction).task.title) for name, (path, direction) in tasks().items()
    ]
    print(format_table(("task", "what"), rows))


def _text(args: argparse.Namespace) -> None:
    from ..recipes.corpora import Corpora
    from ..recipes.recipe import load
    from ..recipes.sources import Sources
    from ..recipes.splits import make_text

    sources = Sources(load(args.task), args.raw, args.downloads)
    if sources.recipe.is_binarised:
        from ..recipes.existing import write_decoded

        write_decoded(sources, args.out, args.sample)
        return
    corpora = Corpora(sources, args.work, args.sample, args.any_counts)
    make_text(corpora, args.out)
    corpora.remove_texts()


def _learn(args: argparse.Namespace) -> None:
    from ...errors import check_choices
    from ...text.segmentation import SEGMENTERS
    from ..recipes.segmenting import learn_pieces

    check_choices("SEGMENTER", [args.segmenter], SEGMENTERS)
    segmenter = SEGMENTERS[args.segmenter]
    learnt = learn_pieces(segmenter, args.texts, args.codes, args.size)
    fewer = "" if learnt == args.size else f", all that the text has of the {args.size:,}"
    print(f"{args.codes.name}: {learnt:,} {segmenter.unit}{fewer}")


def _apply(args: argparse.Namespace) -> None:
    from ..recipes.segmenting import apply_pieces

    apply_pieces(args.codes, args.text, args.to)


def _clean(args: argparse.Namespace) -> None:
    from ..recipes.preparation import clean_pieces

    first, second = args.languages
    limits = args.max_tokens, args.ratio, args.max_words
    before, after = clean_pieces(args.folder, (first, second), *limits)
    print(f"{after:,} of {before:,} training pairs kept")
