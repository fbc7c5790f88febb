"""Reads and writes ``run.json``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from ..errors import UserError
from ..files import load_json, read_json, write_json
from .schema import RECORD, SCHEMA, Decoding, Record


def read_record(path: Path) -> Record:
    """Reads a record, or the record in the folder of a run.

    Raises:
        UserError: it is missing, damaged, or of another version
    """
    path = record_path(path)
    values = load_json(path)
    if not isinstance(values, dict) or "schema" not in values:
        raise UserError(f"{path}: is no record of a run; dc-nmt train and dc-nmt score write them")
    # before the fields are read, because another version has others
    if values["schema"] != SCHEMA:
        raise UserError(
            f"{path}: has schema {values['schema']!r:.40}, and this version reads {SCHEMA}: update "
            "dc_nmt_plugin"
        )
    return read_json(path, Record)


def record_path(path: Path) -> Path:
    """Returns the path of the record of a run's folder; other paths as they are.

    Raises:
        UserError: the folder has no record
    """
    if not path.is_dir():
        return path
    if not (path / RECORD).is_file():
        raise UserError(f"{path}: no {RECORD} in it: the run has not begun, or no run")
    return path / RECORD


def record_of(folder: Path) -> Record | None:
    """Returns the record in a folder; None where ``fairseq-train`` left a model alone.

    Raises:
        UserError: the record is damaged, or of another version
    """
    return read_record(folder) if (folder / RECORD).is_file() else None


def write_record(path: Path, record: Record) -> None:
    """Writes a record; a reader sees the old one or the new one."""
    write_json(path, asdict(record))


def update_record(path: Path, change: Callable[[Record], Record]) -> None:
    """Replaces a record by a changed one."""
    write_record(path, change(read_record(path)))


def with_decoding(record: Record, decoding: Decoding) -> Record:
    """Returns a record with a new decoding in place of the one of the same subset and name."""
    decodings = list(record.decodings)
    for place, known in enumerate(decodings):
        if known.way == decoding.way:
            decodings[place] = decoding
            break
    else:
        decodings.append(decoding)
    return replace(record, decodings=tuple(decodings))
