"""Segmentation of words or raw text into pieces: how it is applied and undone."""

from __future__ import annotations

import html
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import UserError
from .lines import remove_bpe, stream_lines

CONTINUED = "@@"  # subword-nmt: at the end of every piece but a word's last
MARK = "▁"  # sentencepiece: at the front of a word's first piece
_BYTES = re.compile(r"(?:(?<!\S)<0x[0-9A-F]{2}>(?:\s|$))+")  # sentencepiece: of a rare character


class Segmenter(ABC):
    """A program that segments text.

    Attributes:
        name: in a recipe
        label, unit: of its segmentation, for people
        joined_by: fairseq's name of what undoes it, for ``--remove-bpe``
        ending: of the names of its codes
    """

    name: str
    label: str
    unit: str
    joined_by: str
    ending = ""

    @abstractmethod
    def load(self, codes: Path) -> Callable[[str], str]:
        """Returns what segments one line."""

    @abstractmethod
    def join(self, line: str) -> str:
        """Undoes the segmentation of a line."""


class SubwordNMT(Segmenter):
    """BPE inside words."""

    name, joined_by = "subword-nmt", "subword_nmt"
    label, unit = "BPE", "operations"

    def load(self, codes: Path) -> Callable[[str], str]:
        from subword_nmt.apply_bpe import BPE

        try:
            with open(codes, encoding="utf-8") as stream:
                bpe: Any = BPE(stream)
        except (SystemExit, UnicodeDecodeError):  # subword-nmt ends the program
            raise UserError(
                f"{codes}: is neither codes of subword-nmt nor a model of sentencepiece"
            ) from None

        @lru_cache(maxsize=1 << 18)  # most words of a text were there before
        def pieces(word: str) -> str:
            bpe.cache.clear()  # or it grows with the text
            return " ".join(bpe.segment_tokens([word]))

        def segment(line: str) -> str:
            text = line.strip("\r\n ")
            if not text:
                return line
            before, _, after = line.partition(text)
            return before + " ".join(pieces(word) for word in text.split(" ") if word) + after

        return segment

    def join(self, line: str) -> str:
        return remove_bpe(line)


class SentencePiece(Segmenter):
    """Pieces of raw text, spaces included; a rare character is the bytes of its UTF-8."""

    name, joined_by, ending = "sentencepiece", "sentencepiece", ".model"
    label, unit = "sentencepiece", "pieces"

    def load(self, codes: Path) -> Callable[[str], str]:
        processor = load_processor(codes)
        return lambda line: " ".join(processor.encode(line, out_type=str))

    def join(self, line: str) -> str:
        """Joins the pieces of a line, and bytes to characters.

        >>> SENTENCEPIECE.join("▁Wald weg ▁ <0xC3> <0xA9> s")
        'Waldweg és'
        """
        text = _BYTES.sub(lambda match: _decoded(match[0]), line)
        return "".join(text.split()).replace(MARK, " ").strip()


def _decoded(pieces: str) -> str:
    # a model may write bytes that are no character; they are left out
    return bytes.fromhex("".join(re.findall("0x(..)", pieces))).decode("utf-8", "ignore")


SUBWORD_NMT, SENTENCEPIECE = SubwordNMT(), SentencePiece()
SEGMENTERS: dict[str, Segmenter] = {each.name: each for each in (SUBWORD_NMT, SENTENCEPIECE)}


# -- sentencepiece, whose package has no programs ----------------------------------------------


def sentencepiece() -> Any:
    """Returns the package.

    Raises:
        UserError: it is not installed
    """
    try:
        import sentencepiece as package
    except ImportError as error:
        raise UserError(
            "sentencepiece is not installed: pip install 'dc_nmt_plugin[sentencepiece]'"
        ) from error
    return package


def load_processor(codes: Path) -> Any:
    """Returns sentencepiece's model of codes."""
    try:
        return sentencepiece().SentencePieceProcessor(model_file=os.fspath(codes))
    except (OSError, RuntimeError) as error:
        raise UserError(f"{codes}: is no model of sentencepiece") from error


# -- the segmentation of a data folder ---------------------------------------------------------


def codes_of(data: Path, lang: str) -> Path | None:
    """Returns the file of a language's codes beside the data, or None."""
    folder = codes_folder(data)
    for segmenter in SEGMENTERS.values():
        for name in (f"codes.{lang}{segmenter.ending}", f"codes{segmenter.ending}"):
            if (folder / name).is_file():
                return folder / name
    return None


def codes_folder(data: Path) -> Path:
    """Returns the folder beside the data that has its codes: ``bpe-NAME`` for ``bin-NAME``."""
    full = data.resolve()
    return full.parent / full.name.replace("bin", "bpe", 1)


def segmenter_of_codes(codes: Path) -> Segmenter:
    """Returns the program that wrote a file of codes; subword-nmt's have no empty first line."""
    with open(codes, "rb") as stream:
        return SENTENCEPIECE if stream.read(1) == b"\n" else SUBWORD_NMT


def segmenter_of(data: Path, lang: str) -> Segmenter | None:
    """Returns what segmented a language's text, by its codes or its dictionary; None for words."""
    codes = codes_of(data, lang)
    if codes is not None:
        return segmenter_of_codes(codes)
    path = data / f"dict.{lang}.txt"
    kind = _kind_of(line.rpartition(" ")[0] for line in stream_lines(path))
    return next((each for each in SEGMENTERS.values() if each.joined_by == kind), None)


@lru_cache(maxsize=4)
def load_codes(codes: Path) -> Callable[[str], str]:
    """Returns what segments one line."""
    return segmenter_of_codes(codes).load(codes)


def segment(line: str, data: Path, lang: str) -> str:
    """Returns the pieces of the line, by the codes beside the data; without codes, the line.

    Args:
        line: text as it was segmented, or pieces already
        data: folder made by fairseq-preprocess, ``bin`` or ``bin-NAME`` in recipes
        lang: two letters
    """
    codes = codes_of(data, lang)
    if codes is None:
        return line
    mark = MARK if segmenter_of_codes(codes) is SENTENCEPIECE else CONTINUED
    return line if mark in line else load_codes(codes)(line)


# -- pieces of words ---------------------------------------------------------------------------


def piece_kind(dictionary: Any) -> str:
    """Returns how a dictionary's symbols are segmented: as fairseq's ``--remove-bpe``, or none."""
    return _kind_of(dictionary.symbols[dictionary.nspecial :])


def _kind_of(symbols: Iterable[str]) -> str:
    marked = False
    for symbol in symbols:
        if symbol.endswith(CONTINUED):
            return SUBWORD_NMT.joined_by
        marked = marked or symbol.startswith(MARK)
    return SENTENCEPIECE.joined_by if marked else "none"


def word_spans(pieces: Sequence[str], kind: str) -> list[tuple[int, int]]:
    """Returns for every word its first piece and the first piece after it.

    Args:
        pieces: of one sentence, without the end token
        kind: of :func:`piece_kind`
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
        word = " ".join(pieces[begin:end])
        if kind == "subword_nmt":
            word = "".join(piece.removesuffix(CONTINUED) for piece in pieces[begin:end])
        elif kind == "sentencepiece":
            word = SENTENCEPIECE.join(word)
        words.append(html.unescape(word))
    return words
