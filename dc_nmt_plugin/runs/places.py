"""Paths and digests of a record's files, which survive moving and renaming its folder."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import UserError
from ..files import sha256
from .schema import Data, Record, TextFile


def path_from(folder: Path, path: str | os.PathLike[str]) -> str:
    """Returns a path for a record in `folder`: relative when it is in it or beside it."""
    full, start = os.path.abspath(path), os.path.abspath(folder)
    above = os.path.dirname(start)
    if os.path.commonpath([full, above]) == above != "/":
        return Path(os.path.relpath(full, start)).as_posix()
    return full


def text_file(folder: Path, path: str | os.PathLike[str]) -> TextFile:
    """Returns a text file for a record in `folder`, with its digest; a pipe has none."""
    place = Path(path)
    return TextFile(path_from(folder, path), sha256(place) if place.is_file() else None)


def located(origin: Path, record: Record, path: str | None) -> str | None:
    """Returns where a path of the record at `origin` is now; the first place for a missing file."""
    if path is None:
        return None
    places = list(_places(origin, record, path))
    return str(next((place for place in places if place.exists()), places[0]))


def located_text(origin: Path, record: Record, file: TextFile | None) -> str | None:
    """Returns where a text file of the record at `origin` is now, as :func:`located`.

    Raises:
        UserError: there is only another text by that name
    """
    if file is None or file.sha256 is None:
        return located(origin, record, file.path if file else None)
    files = [place for place in _places(origin, record, file.path) if place.is_file()]
    for place in files:
        if sha256(place) == file.sha256:
            return str(place)
    if files:
        raise UserError(
            f"{files[0]}: is another text than {origin} was scored with: put that text back, or "
            "score the translation again"
        )
    return located(origin, record, file.path)


def _places(origin: Path, record: Record, path: str) -> Iterator[Path]:
    """Yields the places of a path: from the folder, from those above it, from the old folder."""
    folder = origin.resolve().parent
    yield Path(os.path.normpath(Path(os.path.abspath(origin)).parent / path))
    yield Path(os.path.normpath(folder / path))  # another one where the folder is a link
    if not path.startswith(".."):  # kept runs name text from the root of a checkout
        yield from (above / path for above in folder.parents)
        yield Path(path)
    if record.written_in:
        yield Path(os.path.normpath(Path(record.written_in) / path))


def described(folder: Path, data: Path, source: str | None, target: str) -> Data:
    """Returns the text of a run in `folder`, which fairseq-preprocess wrote into `data`."""
    text = _training_text(data)
    digest = sha256(*text) if text else None
    return Data(source, target, path_from(folder, data), dictionaries_of(data), digest)


def dictionaries_of(data: Path) -> dict[str, str]:
    """Returns language → digest of the dictionaries in a folder of fairseq-preprocess."""
    return {path.name.split(".")[1]: sha256(path) for path in sorted(data.glob("dict.*.txt"))}


def is_its_text(record: Record, data: Path) -> bool:
    """Returns True if a folder of fairseq-preprocess is the text of a run; unknown text may be."""
    states = tuple((path, path.stat().st_mtime_ns) for path in _training_text(data))
    if record.data.text and states and _digest(states) != record.data.text:
        return False
    dictionaries = dictionaries_of(data)
    known = record.data.dictionaries
    return all(dictionaries.get(name, digest) == digest for name, digest in known.items())


def _training_text(data: Path) -> list[Path]:
    return sorted(path for path in data.glob("train*") if path.suffix in (".bin", ".idx"))


@functools.cache  # each step of an evaluation asks; the times of change are part of the key
def _digest(files: tuple[tuple[Path, int], ...]) -> str:
    return sha256(*(path for path, _ in files))
