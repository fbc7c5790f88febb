"""Pieces of words: those of subword-nmt, and those of sentencepiece with the same marks.

A piece that another follows in the same word ends in ``@@``. So pieces of both kinds are cleaned,
binarised, translated and joined by the same programs. sentencepiece reads raw text and keeps its
characters (normalisation ``identity``), so raw text comes back exactly, up to spaces.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..files import writing
from .lines import stream_lines

MARK = "@@"
START = "\u2581"  # sentencepiece's, before a word's first piece
MODEL = "sentencepiece.model"  # beside the pieces
SENTENCES = 1_000_000  # that a model is learnt from, at most


def remove_bpe(line: str) -> str:
    """Joins pieces to words.

    >>> remove_bpe("Wald@@ weg en@@")
    'Waldweg en'
    """
    return re.sub(r"@@( |$)", "", line).strip()


def check_installed(place: str) -> None:
    """
    Raises:
        UserError: the library sentencepiece is missing
    """
    try:
        import sentencepiece  # noqa: F401
    except ModuleNotFoundError:
        raise UserError(
            f"{place}: the library sentencepiece is missing; pip install sentencepiece"
        ) from None


def learn(texts: Iterable[Path], size: int, model: Path) -> None:
    """Learns a unigram model of sentencepiece.

    Args:
        texts: files with one sentence a line
        size: number of pieces
        model: file to write

    Raises:
        UserError: the library is missing, or the text is too small for so many pieces
    """
    check_installed("sentencepiece")
    import sentencepiece

    written = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(line for path in texts for line in stream_lines(path)),
            model_writer=written,
            vocab_size=size,
            hard_vocab_limit=False,  # less text has fewer pieces
            normalization_rule_name="identity",
            character_coverage=1.0,
            input_sentence_size=SENTENCES,
            shuffle_input_sentence=True,
            minloglevel=2,
        )
    except (RuntimeError, OSError) as error:
        reason = str(error).strip().splitlines()[-1]
        raise UserError(f"sentencepiece, {size:,} pieces: {reason}") from error
    model.write_bytes(written.getvalue())


class Segmenter:
    """Segments lines with a model of sentencepiece, as subword-nmt's ``BPE`` does with codes."""

    def __init__(self, model: Path) -> None:
        import sentencepiece

        self._model: Any = sentencepiece.SentencePieceProcessor(model_file=str(model))

    def process_line(self, line: str) -> str:
        """Returns the pieces of a line, separated by spaces."""
        return marked(self._model.encode(line.strip(), out_type=str))


def marked(pieces: Iterable[str]) -> str:
    """Returns sentencepiece's pieces with the marks of subword-nmt.

    >>> marked(["\u2581Wald", "weg", "\u2581en", "de"])
    'Wald@@ weg en@@ de'
    """
    words: list[list[str]] = []
    for piece in pieces:
        if piece.startswith(START) or not words:
            words.append([])
        text = piece.removeprefix(START)
        if text:
            words[-1].append(text)
    return " ".join(f"{MARK} ".join(word) for word in words if word)


@lru_cache(maxsize=4)
def segmenter(model: Path) -> Segmenter:
    """Returns the segmenter of a model of sentencepiece.

    Raises:
        UserError: the library is missing
    """
    check_installed(str(model))
    return Segmenter(model)


def apply(model: Path, text: Path, to: Path) -> None:
    """Segments a file by sentencepiece, line by line."""
    process = segmenter(model).process_line
    with writing(to) as out:
        out.writelines(f"{process(line)}\n" for line in stream_lines(text))
