"""``dc-nmt corpus``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..text.corpus.codes import LANGUAGES
from ..text.corpus.generate import make_corpus, write_corpus
from .parser import Parser, number


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt corpus``: make the embedded parallel corpus."""
    parser = Parser(
        prog="dc-nmt corpus",
        description=(
            "Generates a parallel corpus from CLDR data and numbers in words: dates, times,"
            " durations, prices, measures, and names of countries and languages. It needs "
            "no network."
        ),
    )
    languages = ", ".join(LANGUAGES)
    parser.add_argument(
        "--source-lang", required=True, metavar="LANG", help=f"language, one of {languages}"
    )
    parser.add_argument(
        "--target-lang", required=True, metavar="LANG", help=f"language, one of {languages}"
    )
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="output folder")
    parser.add_argument(
        "--pairs",
        type=number(1),
        default=21_000,
        help="number of pairs for training, validation and test together",
    )
    parser.add_argument("--seed", type=int, default=1, help="random seed of the sentences")
    args = parser.parse_args(argv)
    corpus = make_corpus(args.source_lang, args.target_lang, pairs=args.pairs, seed=args.seed)
    manifest = write_corpus(corpus, args.source_lang, args.target_lang, args.seed, args.out)
    sizes = ", ".join(f"{split} {len(lines)}" for split, lines in corpus.splits().items())
    print(f"{manifest.parent}: {args.source_lang}-{args.target_lang}, pairs: {sizes}")
    return 0
