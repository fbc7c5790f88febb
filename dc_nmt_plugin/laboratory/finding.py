"""Finds runs, their translations and their files, wherever the folder of a run is now."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import UserError
from ..files import sha256
from ..runs.record import RECORD, Decoding, Record, TextFile, read_record, record_path


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
