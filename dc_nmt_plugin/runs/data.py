"""Names and digests of a run's text, as its record has them."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..files import load_json, sha256
from .record import Data, Record, TextFile


def path_from(folder: Path, path: str | os.PathLike[str]) -> str:
    """Returns a path for a record in `folder`: relative when it is in it or beside it."""
    full, start = os.path.abspath(path), os.path.abspath(folder)
    above = os.path.dirname(start)
    if os.path.commonpath([full, above]) == above != "/":
        return Path(os.path.relpath(full, start)).as_posix()
    return full


def text_file(folder: Path, path: str | os.PathLike[str]) -> TextFile:
    """Returns a text file for a record in `folder`, with its digest; a pipe has none."""
    digest = sha256(path) if Path(path).is_file() else None
    return TextFile(path_from(folder, path), digest)


def data_facts(folder: Path, data: Path, source: str | None, target: str) -> Data:
    """Returns the text of a run in `folder`, which fairseq-preprocess wrote into `data`."""
    links = [path.resolve().parent for path in data.glob("*.idx") if path.is_symlink()]
    return Data(
        source=source,
        target=target,
        folder=path_from(folder, data),
        origin="/".join(links[0].parts[-3:]) if links else None,
        dictionaries=dictionaries_of(data),
        text=_text_digest(data, "train"),
        valid=_text_digest(data, "valid"),
    )


def preparation_of(data: Path) -> dict[str, Any] | None:
    """Returns what ``dc-nmt prepare`` wrote about the text of a data folder; None if others did."""
    try:
        content = load_json(data.resolve().parent / "raw/manifest.json")
    except UserError:
        return None
    return content if isinstance(content, dict) and {"task", "text"} <= content.keys() else None


def dictionaries_of(data: Path) -> dict[str, str]:
    """Returns language → digest of the dictionaries in a folder of fairseq-preprocess."""
    return {path.name.split(".")[1]: sha256(path) for path in sorted(data.glob("dict.*.txt"))}


def is_its_text(record: Record, data: Path) -> bool:
    """Returns True if a folder of fairseq-preprocess is the text of a run; unknown text may be."""
    if record.data.text and _text_digest(data, "train") not in (None, record.data.text):
        return False
    dictionaries = dictionaries_of(data)
    known = record.data.dictionaries
    return all(dictionaries.get(name, digest) == digest for name, digest in known.items())


def _text_digest(data: Path, split: str) -> str | None:
    files = sorted(path for path in data.glob(f"{split}*") if path.suffix in (".bin", ".idx"))
    return _digest(*((path, path.stat().st_mtime_ns) for path in files)) if files else None


@functools.cache  # each step of an evaluation asks; a changed file has another time
def _digest(*files: tuple[Path, int]) -> str:
    return sha256(*(path for path, _ in files))
