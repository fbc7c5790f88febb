"""Joins subword-nmt's pieces."""

from __future__ import annotations

import re

MARK = "@@"  # at the end of a piece that another follows in the same word


def remove_bpe(line: str) -> str:
    """Joins pieces to words.

    >>> remove_bpe("Wald@@ weg en@@")
    'Waldweg en'
    """
    return re.sub(r"@@( |$)", "", line).strip()
