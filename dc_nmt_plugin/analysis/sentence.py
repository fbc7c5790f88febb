"""Segments lines like the text of a data folder."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any


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
