"""The options of each analysis of ``dc-nmt analyze``.

The destination of an option is the name of a keyword argument of the analysis.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from ..analysis.options import ATTENTION_KINDS, CURVES, EDGES, TEXTS, ZERO
from ..flags import listed
from .parser import Parser, number


def add_options(parser: Parser, analysis: str) -> None:
    """Adds the options of an analysis to those of ``dc-nmt analyze``."""
    if analysis in _OPTIONS:
        _OPTIONS[analysis](parser)


def _attention(parser: Parser) -> None:
    parser.add_argument(
        "--of",
        choices=ATTENTION_KINDS,
        help="which attention (default: encoder; for recurrent models: source)",
    )


def _parts_of_speech(parser: Parser) -> None:
    parser.add_argument(
        "--side",
        choices=("encoder", "decoder"),
        help="side of the model (default: the encoder, if it has gates)",
    )
    parser.add_argument(
        "--tags",
        type=Path,
        metavar="FILE",
        help="file with the tags of a sentence per line, one tag per word (default: those of "
        "HanTa, for English and German)",
    )


def _routing(parser: Parser) -> None:
    parser.add_argument(
        "--zero",
        type=float,
        default=ZERO,
        metavar="W",
        help="weights below this value count as zero (default: 0.0005, zero in three decimals)",
    )


def _dependency(parser: Parser) -> None:
    parser.add_argument(
        "--index",
        type=int,
        default=1,
        metavar="N",
        help="number of the sentence to show word by word, from 1 (default: 1, or the first of "
        "--sentences)",
    )


def _add_text(parser: Parser) -> None:
    parser.add_argument(
        "--text",
        choices=TEXTS,
        default="reference",
        help="text to force: the reference, or the model's own translation by beam or greedy "
        "search",
    )


def _previous_words(parser: Parser) -> None:
    _add_text(parser)
    parser.add_argument(
        "--longest", type=number(1), default=50, metavar="K", help="number of positions to show"
    )


def _trees(parser: Parser) -> None:
    _add_text(parser)
    parser.add_argument(
        "--trees",
        type=Path,
        metavar="FILE",
        help="file with one bracketed tree per line for each sentence of the text, with the words "
        "of the target side",
    )
    parser.add_argument(
        "--index",
        type=int,
        metavar="N",
        help="number of the sentence to draw, from 1 (default: the first)",
    )


def _lengths(parser: Parser) -> None:
    parser.add_argument("--unit", choices=("words", "pieces"), default="words")
    parser.add_argument(
        "--edges",
        type=rising_lengths,
        metavar="N,N,…",
        default=EDGES,
        help="first lengths of the groups; default: 10,20,30,40,50, as in the thesis",
    )


def rising_lengths(text: str) -> list[int]:
    """Parses rising whole numbers separated by commas."""
    try:
        lengths = [int(part) for part in text.split(",")]
    except ValueError:
        lengths = []
    if not lengths or lengths[0] < 1 or lengths != sorted(set(lengths)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a rising list of lengths such as 10,20,30"
        )
    return lengths


def _matrix(parser: Parser) -> None:
    parser.add_argument(
        "--sentence",
        metavar="TEXT",
        help="source sentence, tokenised like the data; BPE is applied if the codes are beside "
        "the data",
    )
    parser.add_argument(
        "--index",
        type=int,
        metavar="N",
        help="number of the sentence in the text, from 1 (default: 1)",
    )
    parser.add_argument(
        "--of",
        type=listed,
        metavar="NAME,…",
        help="attentions, such as encoder.3.self or 'decoder.*.source' (default: the last "
        "layer of every kind; the table lists all names)",
    )
    parser.add_argument(
        "--heads",
        default="mean",
        metavar="HEADS",
        help="mean, all, or the number of a head from 1",
    )


def _curves(parser: Parser) -> None:
    parser.add_argument(
        "--numbers",
        type=listed,
        metavar="NAME,…",
        help="numbers to draw, such as valid:bleu or valid:dv_encoder; all: everything "
        f"(default: those of {','.join(CURVES)} that were logged, and means of diagnostics)",
    )


_OPTIONS: dict[str, Callable[[Parser], None]] = {
    "attention": _attention,
    "parts-of-speech": _parts_of_speech,
    "routing": _routing,
    "dependency": _dependency,
    "previous-words": _previous_words,
    "trees": _trees,
    "lengths": _lengths,
    "matrix": _matrix,
    "curves": _curves,
}
