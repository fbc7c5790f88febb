"""Segments text by the library sentencepiece, into pieces with the marks of subword-nmt.

A piece that another follows in the same word ends in ``@@``, as after subword-nmt. So the pieces
are cleaned, binarised, translated and joined by the same programs, and raw text comes back exactly,
up to spaces. The library keeps characters as they are (normalisation ``identity``).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..files import writing
from .pieces import MARK

START = "\u2581"  # before a word's first piece
MODEL = "sentencepiece.model"  # beside the pieces
SENTENCES = 1_000_000  # that a model is learnt from, at most


def check_installed(place: str) -> None:
    """Checks that the library is there.

    Raises:
        UserError: it is not
    """
    try:
        import sentencepiece  # noqa: F401
    except ModuleNotFoundError:
        raise UserError(
            f"{place}: the library sentencepiece is missing; pip install sentencepiece"
        ) from None


def learn(texts: Iterable[Path], size: int, model: Path) -> None:
    """Learns a unigram model.

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
            sentence_iterator=(line for path in texts for line in _lines(path)),
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
    """Segments lines with a model, as subword-nmt's ``BPE`` does with codes."""

    def __init__(self, model: Path) -> None:
        import sentencepiece

        self._model: Any = sentencepiece.SentencePieceProcessor(model_file=str(model))

    def process_line(self, line: str) -> str:
        """Returns the pieces of a line, separated by spaces.

        >>> " ".join(_marked(["\u2581Wald", "weg", "\u2581en", "de"]))
        'Wald@@ weg en@@ de'
        """
        return " ".join(_marked(self._model.encode(line.strip(), out_type=str)))


@lru_cache(maxsize=4)
def segmenter(model: Path) -> Segmenter:
    """Returns the segmenter of a model.

    Raises:
        UserError: the library is missing
    """
    check_installed(str(model))
    return Segmenter(model)


def apply(model: Path, text: Path, to: Path) -> None:
    """Segments a file, line by line."""
    process = segmenter(model).process_line
    with writing(to) as out:
        out.writelines(f"{process(line)}\n" for line in _lines(text))


def _marked(pieces: Iterable[str]) -> Iterator[str]:
    words: list[list[str]] = []
    for piece in pieces:
        if piece.startswith(START) or not words:
            words.append([])
        if text := piece.removeprefix(START):
            words[-1].append(text)
    for word in words:
        yield from (f"{piece}{MARK}" for piece in word[:-1])
        yield from word[-1:]


def _lines(path: Path) -> Iterator[str]:
    with open(path, encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield line.rstrip("\n")
