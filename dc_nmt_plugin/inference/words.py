"""Pieces of words: their segmentation by BPE, and the words that they make."""

from __future__ import annotations

import html
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

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


def segment(line: str, data: Path, lang: str) -> str:
    """Returns the pieces of the line, by the codes beside the data; without codes, the line.

    Args:
        line: tokenised text, or pieces already
        data: folder made by fairseq-preprocess, ``bin`` or ``bin-NAME`` in recipes
        lang: two letters
    """
    codes = codes_of(data, lang)
    if codes is None or "@@" in line:
        return line
    return str(byte_pairs(codes).process_line(line))


def codes_of(data: Path, lang: str) -> Path | None:
    """Returns the file of a language's BPE codes beside the data, or None.

    A folder ``bin-NAME`` of data has its codes in ``bpe-NAME`` beside it.
    """
    folder = data.resolve().parent / data.resolve().name.replace("bin", "bpe", 1)
    names = (f"codes.{lang}", "codes")
    return next((folder / name for name in names if (folder / name).is_file()), None)


@lru_cache(maxsize=4)
def byte_pairs(codes: Path) -> Any:
    """Returns subword-nmt's ``BPE``, whose ``process_line`` segments text."""
    from subword_nmt.apply_bpe import BPE

    with open(codes, encoding="utf-8") as stream:
        return BPE(stream)
