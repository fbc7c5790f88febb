"""Finds signs of tokenised text, and escapes fairseq's own symbols."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import regex

MOSES_MARK = re.compile(r"(?:^| )@-@(?: |$)|&(?:apos|quot|amp|lt|gt|#9[13]|#124);")
FREE_STOP = re.compile(r"(?:^| )[.,](?: |$)")  # not ? ! : ; which French sets apart in raw text
STOP = re.compile(r"[.,](?: |$)")
SYMBOLS = ("<s>", "<pad>", "</s>", "<unk>")  # of every dictionary of fairseq's
_SYMBOL = re.compile(rf"(?<!\S)(?:{'|'.join(SYMBOLS)})(?!\S)")
_VISIBLE = regex.compile(r"[^\s\p{Z}\p{C}]")


class Sign(NamedTuple):
    """Holds the evidence that a text is tokenised.

    Attributes:
        lines: number of lines with evidence
        first: number of the first such line
        example: from that line
        text: description
    """

    lines: int
    first: int
    example: str
    text: str


def tokenized_sign(lines: Sequence[str]) -> Sign | None:
    """Returns the evidence that lines are tokenised; None if they look like raw text.

    The evidence is Moses' marks (`` @-@ ``, ``&apos;``) in more than one line in a hundred, or
    separate commas and full stops in at least half of the lines with any.
    """
    marked = [n for n, line in enumerate(lines, start=1) if MOSES_MARK.search(line)]
    if marked and len(marked) * 100 > len(lines):
        example = _example(MOSES_MARK, lines[marked[0] - 1]).strip()
        return Sign(len(marked), marked[0], example, f"{example!r} in line {marked[0]}")
    free = [n for n, line in enumerate(lines, start=1) if FREE_STOP.search(line)]
    with_stop = sum(1 for line in lines if STOP.search(line))
    if free and 2 * len(free) >= with_stop:
        text = f"{len(free)} of {with_stop} lines with free-standing punctuation, as line {free[0]}"
        return Sign(len(free), free[0], _example(FREE_STOP, lines[free[0] - 1]), text)
    return None


def _example(pattern: re.Pattern[str], line: str) -> str:
    """Returns the text that was found, with the word before separate punctuation."""
    found = pattern.search(line)
    if found is None or pattern is MOSES_MARK:
        return found[0] if found else ""
    return " ".join(line[: found.end()].split()[-2:])


def untokenized_sign(lines: Sequence[str]) -> str | None:
    """Returns the evidence that lines are raw: most commas and full stops touch a word."""
    with_stop = [n for n, line in enumerate(lines, start=1) if STOP.search(line)]
    free = sum(1 for line in lines if FREE_STOP.search(line))
    if len(with_stop) >= 10 and 2 * free < len(with_stop):
        hanging = len(with_stop) - free
        return f"{hanging} of {len(with_stop)} lines with punctuation attached to words"
    return None


def is_visible(line: str) -> bool:
    """Returns whether a line has more than spaces, control and invisible characters."""
    return _VISIBLE.search(line) is not None


def escape_symbols(line: str) -> str:
    """Writes fairseq's symbols as Moses writes angle brackets, so that they are words again.

    >>> escape_symbols("x <pad> y <b>")
    'x &lt;pad&gt; y <b>'
    """
    if "<" not in line:
        return line
    return _SYMBOL.sub(lambda m: m[0].replace("<", "&lt;").replace(">", "&gt;"), line)
