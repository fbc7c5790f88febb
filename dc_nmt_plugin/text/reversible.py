"""Splits text reversibly at punctuation and digits.

Moses tokenisation cannot be undone for times, dates and fractions ("6:46" becomes "6: 46"), of
which the embedded corpus is full. Here a space becomes the mark "▁" at the front of its word, as
in SentencePiece, and then every change between letters, digits and punctuation is a split:
"21. Juni, 06:46" becomes "▁21 . ▁Juni , ▁06 : 46".
"""

from __future__ import annotations

import regex

MARK = "▁"
# regex's \w has the signs of vowels too, which Indic and Thai letters carry; re's has not
PIECE = regex.compile(rf"{MARK}?(?:\d+|[^\W\d]+|[^\w\s])")


def split_line(line: str) -> str:
    """Splits a line into pieces with single spaces; runs of white space count as one space."""
    return " ".join(PIECE.findall(MARK + MARK.join(line.split())))


def join_line(line: str) -> str:
    """Reverses :func:`split_line`."""
    return "".join(line.split()).replace(MARK, " ").strip()
