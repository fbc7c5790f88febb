"""Assigns pieces to words."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from ..errors import UsageError
from .subject import Subject

CONTINUED = "@@"  # subword-nmt: at the end of every piece but a word's last
MARK = "▁"  # SentencePiece: at the front of a word's first piece
KINDS = ("subword_nmt", "sentencepiece", "none")


def piece_kind(dictionary: Any) -> str:
    """Returns how the symbols of the dictionary are segmented: one of :data:`KINDS`."""
    symbols = dictionary.symbols[dictionary.nspecial :]
    if any(symbol.endswith(CONTINUED) for symbol in symbols):
        return "subword_nmt"
    if any(symbol.startswith(MARK) for symbol in symbols):
        return "sentencepiece"
    return "none"


def word_spans(pieces: Sequence[str], kind: str) -> list[tuple[int, int]]:
    """Returns for every word its first piece and the first piece after it.

    Args:
        pieces: of one sentence, without the end token
        kind: one of :data:`KINDS`
    """
    starts = []
    for i, piece in enumerate(pieces):
        if kind == "subword_nmt":
            begins = i == 0 or not pieces[i - 1].endswith(CONTINUED)
        else:
            begins = kind == "none" or i == 0 or piece.startswith(MARK)
        if begins:
            starts.append(i)
    ends = [*starts[1:], len(pieces)]
    return list(zip(starts, ends, strict=False))  # no word: one end is left over


def words_of(pieces: Sequence[str], kind: str) -> list[str]:
    """Returns words in plain text: pieces joined, Moses' escapes undone."""
    words = []
    for begin, end in word_spans(pieces, kind):
        own = pieces[begin:end]
        if kind == "subword_nmt":
            own = [piece.removesuffix(CONTINUED) for piece in own]
        word = "".join(own)
        words.append(html.unescape(word.replace(MARK, "") if kind == "sentencepiece" else word))
    return words


def check_lines(flag: str, path: object, lines: Sequence[str], subject: Subject) -> None:
    """
    Raises:
        UserError: a file about the sentences of the text has another number of lines
    """
    if len(lines) != subject.size:
        raise UsageError(
            f"{flag} {path}: {len(lines)} lines for {subject.size} sentences of {subject.subset}."
        )
