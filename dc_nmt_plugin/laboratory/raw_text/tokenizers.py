"""Tokenises and detokenises like the recipes, so that both sides of a score agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import regex

from ...text.languages import known_as
from .moses import FastMoses

# moses-a splits hyphens inside words to " @-@ "; as in the recipes, jieba segments Chinese
MOSES = ("moses", "moses-a")
TOKENIZERS = (*MOSES, "split", "none")

SPACE_MARK = "▁"
# regex's \w includes the vowel signs of Indic and Thai letters, re's does not
_PIECE = regex.compile(rf"{SPACE_MARK}?(?:\d+|[^\W\d]+|[^\w\s])")


def split_line(line: str) -> str:
    """Splits a line reversibly between letters, digits and punctuation (tokenizer ``split``).

    Moses' tokenisation of times, dates and fractions cannot be undone ("6:46" becomes "6: 46").
    Here a space becomes the mark "▁" before its word, as in sentencepiece. Runs of white space
    count as one space.

    >>> split_line("21. Juni, 06:46")
    '▁21 . ▁Juni , ▁06 : 46'
    """
    return " ".join(_PIECE.findall(SPACE_MARK + SPACE_MARK.join(line.split())))


def tokenize(lines: Sequence[str], tokenizer: str, lang: str) -> list[str]:
    """Tokenises raw lines; the arguments are those of :func:`detokenize`."""
    if tokenizer == "none":
        return list(lines)
    run = split_line if tokenizer == "split" else moses_tokenizer(tokenizer, lang)
    return [run(line) for line in lines]


def detokenize(
    lines: Sequence[str], tokenizer: str, lang: str, truecased: bool = False
) -> list[str]:
    """Undoes a tokenisation by one of TOKENIZERS, with ``&apos;`` and ``@-@``.

    Sentences of truecased text are capitalised first.
    """
    if truecased:
        from sacremoses import MosesDetruecaser

        casing = MosesDetruecaser()
        lines = [casing.detruecase(line, return_str=True) for line in lines]
    if tokenizer == "none":
        return list(lines)
    if tokenizer == "split":
        return ["".join(line.split()).replace(SPACE_MARK, " ").strip() for line in lines]
    from sacremoses import MosesDetokenizer

    moses = MosesDetokenizer(lang=known_as(lang))
    return [moses.detokenize(line.split(), unescape=True) for line in lines]


def moses_tokenizer(name: str, lang: str) -> Callable[[str], str]:
    """Returns a function that tokenises one line by one of MOSES, or Chinese by jieba."""
    lang = known_as(lang)
    if lang == "zh":
        from rjieba import cut

        return lambda line: " ".join(" ".join(cut(line)).split())
    return FastMoses(lang, hyphens=name == "moses-a")
