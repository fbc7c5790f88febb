"""Stamps: short digests of the inputs of a result, in files beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from .files import read_small, sha256, write_text


def read_stamp(path: Path) -> str | None:
    """Returns the stamp in a file; None without a file.

    Raises:
        UserError: the file is damaged
    """
    return read_small(path).rstrip("\n") if path.is_file() else None


def write_stamp(path: Path, stamp: str) -> None:
    # an incomplete stamp would look like that of other settings
    write_text(path, f"{stamp}\n")


def digest(words: Iterable[object]) -> str:
    """Returns a short stamp of settings."""
    text = "".join(f"{word}\n" for word in words)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def file_digest(paths: Iterable[Path]) -> str:
    """Returns a short stamp of the contents of files."""
    return digest(map(sha256, paths))
