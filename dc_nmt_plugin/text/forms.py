"""Unicode's two forms of a letter with a mark: one character (NFC), or several (NFD).

Both look alike, and are different words for a model and a score.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal
from unicodedata import is_normalized, normalize

Form = Literal["NFC", "NFD"]
RARE = 100  # a text has a form, or a problem with a threshold, in more than one line in so many


def is_decomposed(line: str) -> bool:
    """Returns whether a line has several characters for a letter that also is one character."""
    # NFC also replaces a few characters by several, which makes a line no shorter
    return not is_normalized("NFC", line) and len(normalize("NFC", line)) < len(line)


def is_composed(line: str) -> bool:
    """Returns whether a line has one character for a letter with a mark, or a Korean syllable."""
    return not is_normalized("NFD", line)


def form_of(texts: Iterable[str]) -> Form | None:
    """Returns the only form of texts, ``NFC`` or ``NFD``; None if both look alike or are mixed."""
    texts = list(texts)
    composed = sum(map(is_composed, texts)) * RARE > len(texts)
    decomposed = sum(map(is_decomposed, texts)) * RARE > len(texts)
    if composed == decomposed:
        return None
    return "NFC" if composed else "NFD"


def in_form(line: str, form: Form | None) -> str:
    """Returns a line in a form of :func:`form_of`; a line that has it already stays as it is."""
    if (form == "NFC" and is_decomposed(line)) or (form == "NFD" and is_composed(line)):
        return normalize(form, line)
    return line
