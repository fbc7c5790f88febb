"""Joins subword-nmt's pieces."""

from __future__ import annotations

import re


def remove_bpe(line: str) -> str:
    """Joins pieces to words.

    >>> remove_bpe("Wald@@ weg en@@")
    'Waldweg en'
    """
    return re.sub(r"@@( |$)", "", line).strip()
