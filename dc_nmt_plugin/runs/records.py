"""Reads and writes ``run.json``; refuses other versions and damaged files in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from ..errors import UserError
from ..files import load_json, write_json
from ..typed_files import from_json
from .schema import RECORD, SCHEMA, Decoding, Record


def read_record(path: Path) -> Record:
    """Reads a record, or the record in the folder of a run.

    Raises:
        UserError: it is missing, damaged, or of another version
    """
    path = record_path(path)
    values = load_json(path)
    if not isinstance(values, dict) or "schema" not in values:
        raise UserError(
            f"{path}: is no record of a run, 'schema' is missing; dc-nmt train, evaluate and score "
            "write records"
        )
    if values["schema"] != SCHEMA:
        raise UserError(
            f"{path}: has schema {values['schema']!r:.40}, and this version reads {SCHEMA}: update "
            "dc_nmt_plugin"
        )
    return from_json(values, Record, path, "the file is damaged, or was changed by hand")


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
        UserError: its record is unusable
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
    ways = [each.way for each in record.decodings]
    if decoding.way not in ways:
        return replace(record, decodings=(*record.decodings, decoding))
    found = list(record.decodings)
    found[ways.index(decoding.way)] = decoding
    return replace(record, decodings=tuple(found))
