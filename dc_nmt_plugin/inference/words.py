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
        word_pieces = pieces[begin:end]
        if kind == "subword_nmt":
            word_pieces = [piece.removesuffix(CONTINUED) for piece in word_pieces]
        word = "".join(word_pieces)
        if kind == "sentencepiece":
            word = word.replace(MARK, "")
        words.append(html.unescape(word))
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
    """Returns the file of a language's BPE codes beside the data, or None."""
    folder = codes_folder(data)
    for name in (f"codes.{lang}", "codes"):
        if (folder / name).is_file():
            return folder / name
    return None


def codes_folder(data: Path) -> Path:
    """Returns the folder beside the data that has its BPE codes: ``bpe-NAME`` for ``bin-NAME``."""
    full = data.resolve()
    return full.parent / full.name.replace("bin", "bpe", 1)


@lru_cache(maxsize=4)
def byte_pairs(codes: Path) -> Any:
    """Returns subword-nmt's ``BPE``, whose ``process_line`` segments text."""
    from subword_nmt.apply_bpe import BPE

    with open(codes, encoding="utf-8") as stream:
        return BPE(stream)
