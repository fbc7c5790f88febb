"""Finds runs, their translations and their files.

Paths and digests of a record's files survive moving and renaming its folder.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..files import load_json, sha256
from .record import RECORD, Data, Decoding, Record, TextFile, read_record, record_path


@dataclass(frozen=True)
class Run:
    """A run with one of its translations; `path` is that of its record."""

    path: Path
    record: Record
    decoding: Decoding

    @classmethod
    def read(cls, path: Path) -> Run:
        """Reads a run with its first scored translation, or ``RUN:NAME`` with another one.

        RUN is a folder or a record. NAME is that of ``dc-nmt evaluate --as``, after a set other
        than test and a full stop.

        Raises:
            UserError: no record, or no such translation
        """
        unnamed, name = _split_name(path)
        runs = cls.all_of(unnamed)
        if not runs:
            raise UserError(
                f"{path}: has no scores yet: dc-nmt evaluate makes those of a recipe's run, and "
                f"'dc-nmt score OUTPUT … --out {record_path(unnamed)}' those of fairseq-generate"
            )
        named = {run.decoding.key: run for run in runs}
        if name and name not in named:
            names = ", ".join(filter(None, named)) or "none with a name"
            raise UserError(
                f"{path}: {unnamed} has no scored translation {name!r}; there is {names}"
            )
        return named.get(name, runs[0])

    @classmethod
    def all_of(cls, path: Path) -> list[Run]:
        """Reads a run with each of its scored translations."""
        path = record_path(path)
        record = read_record(path)
        return [cls(path, record, decoding) for decoding in record.decodings if decoding.scores]

    @property
    def folder(self) -> Path:
        return self.path.resolve().parent

    @property
    def location(self) -> Path:
        """Returns the folder of the run; for a record of another name, its own path."""
        return self.folder if self.path.name == RECORD else self.path.resolve()

    @property
    def updates(self) -> int | None:
        """Returns the updates of the model that translated."""
        if self.decoding.updates is not None:
            return self.decoding.updates
        return self.record.training.updates


def _split_name(path: Path) -> tuple[Path, str]:
    named = None if path.exists() else re.fullmatch(r"(.+):([\w.+=,-]+)", str(path))
    return (Path(named[1]), named[2]) if named else (path, "")


def is_run(path: Path) -> bool:
    """Returns True for a run's folder or a record, also with the name of a translation."""
    unnamed, _ = _split_name(path)
    return unnamed.is_dir() or unnamed.suffix == ".json"


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


def located(origin: Path, record: Record, file: TextFile | str | None) -> str | None:
    """Returns where a file of the record at `origin` is now; where it was, for a missing file.

    Raises:
        UserError: there is only another text by that name
    """
    if file is None:
        return None
    # by the digest, because another text may have that name now
    path, digest = (file, None) if isinstance(file, str) else (file.path, file.sha256)
    candidates = list(_candidates(origin, record, path))
    existing = [candidate for candidate in candidates if candidate.exists()]
    if digest is None or not existing:
        return str([*existing, *candidates][0])
    for candidate in existing:
        if candidate.is_file() and sha256(candidate) == digest:
            return str(candidate)
    raise UserError(
        f"{existing[0]}: is another text than {origin} was scored with: put that text back, or "
        "score the translation again"
    )


def _candidates(origin: Path, record: Record, path: str) -> Iterator[Path]:
    """Yields where a path may lead: from the folder, from those above it, from the old folder."""
    folder = origin.resolve().parent
    yield Path(os.path.normpath(Path(os.path.abspath(origin)).parent / path))
    yield Path(os.path.normpath(folder / path))  # another one where the folder is a link
    if not path.startswith(".."):  # kept runs name text from the root of a checkout
        yield from (above / path for above in folder.parents)
        yield Path(path)
    if record.written_in:
        yield Path(os.path.normpath(Path(record.written_in) / path))


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
