"""The options that say how plain text of any toolkit was made, for score and compare."""

from __future__ import annotations

import argparse

from ..evaluation.systems import PlainTextOptions
from ..text.languages import language
from ..text.tokenizers import TOKENIZERS


def add_plain_text(parser: argparse.ArgumentParser) -> None:
    """Adds the options, except ``--reference``; :func:`plain_text_of` reads them."""
    parser.add_argument(
        "--tokenized-reference", metavar="FILE",
        help="tokenised like the training text, without BPE; default: --reference by --tokenizer",
    )  # fmt: skip
    parser.add_argument("--target-lang", type=language, metavar="LANG", help="a run knows its own")
    parser.add_argument(
        "--tokenizer", choices=TOKENIZERS,
        help="tokeniser of the text before BPE; moses-a splits hyphens to ' @-@ '; default: of the "
        "first run, or none",
    )  # fmt: skip
    parser.add_argument(
        "--tokenized", action="store_true", help="the plain text is tokenised, without BPE"
    )
    parser.add_argument(
        "--truecased", action="store_true",
        help="the tokenised text of both sides is: capitalise sentences in the detokenised text",
    )  # fmt: skip


def plain_text_of(args: argparse.Namespace, reference: str | None) -> PlainTextOptions:
    """Returns the options from the command line."""
    return PlainTextOptions(
        reference,
        args.tokenized_reference,
        args.target_lang,
        args.tokenizer,
        args.tokenized,
        args.truecased,
    )
