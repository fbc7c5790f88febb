"""Splits text reversibly at punctuation and digits.

Moses tokenisation cannot be undone for times, dates and fractions ("6:46" becomes "6: 46"), which
are frequent in the generated corpus. Here a space becomes the mark "▁" before its word, as in
SentencePiece. Then every change between letters, digits and punctuation is a split:
"21. Juni, 06:46" becomes "▁21 . ▁Juni , ▁06 : 46".
"""

from __future__ import annotations

import regex

MARK = "▁"
# regex's \w includes the vowel signs of Indic and Thai letters, re's does not
PIECE = regex.compile(rf"{MARK}?(?:\d+|[^\W\d]+|[^\w\s])")


def split_line(line: str) -> str:
    """Returns pieces separated by single spaces; runs of white space count as one space."""
    return " ".join(PIECE.findall(MARK + MARK.join(line.split())))


def join_line(line: str) -> str:
    """Reverses :func:`split_line`."""
    return "".join(line.split()).replace(MARK, " ").strip()
