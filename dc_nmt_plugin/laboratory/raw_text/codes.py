"""Checks that codes of a segmentation belong to a dictionary."""

from __future__ import annotations

from pathlib import Path

from ...errors import UserError
from ...text.lines import stream_lines
from ...text.segmentation import (
    CONTINUED,
    MARK,
    SENTENCEPIECE,
    Segmenter,
    load_codes,
    segmenter_of_codes,
)

LOOKED_UP = 2_000  # words of a dictionary
LEAST_WHOLE = 0.8  # of them; codes of the text have 0.99 or more, half of its codes 0.5


def check_codes(codes: Path, dictionary: Path) -> None:
    """Checks that codes segmented the text of a dictionary: its words are whole by them.

    Raises:
        UserError: they leave other pieces, or are no codes
    """
    segmenter = segmenter_of_codes(codes)
    words = _words_of(dictionary, segmenter)
    some = words[:: -(-len(words) // LOOKED_UP) or 1]
    segment = load_codes(codes)
    split = [word for word in some if segment(segmenter.join(word)) != word]
    if len(split) >= (1 - LEAST_WHOLE) * len(some):
        raise UserError(
            f"{codes}: is not the file that segmented the training text: it splits "
            f"{len(split):,} of {len(some):,} words of {dictionary}; give {segmenter.name}'s codes "
            "of that text, unchanged"
        )


def _words_of(dictionary: Path, segmenter: Segmenter) -> list[str]:
    """Returns the symbols of a dictionary that are whole words, as a segmenter marks them."""
    symbols = [line.rpartition(" ")[0] for line in stream_lines(dictionary)]
    if segmenter is SENTENCEPIECE:
        return [symbol for symbol in symbols if symbol.startswith(MARK) and symbol != MARK]
    return [symbol for symbol in symbols if not symbol.endswith(CONTINUED)]
