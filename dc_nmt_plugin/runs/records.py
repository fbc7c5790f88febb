"""Reads and writes ``run.json``; refuses other versions and damaged files in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import MISSING, asdict, fields, is_dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

from ..errors import UserError
from ..files import replacing
from .schema import KINDS, RECORD, SCHEMA, Decoding, Record

_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def read_record(path: Path) -> Record:
    """Reads a record, or the record in the folder of a run.

    Raises:
        UserError: it is missing, damaged, or of another version
    """
    path = record_path(path)
    try:
        values = json.loads(path.read_text("utf-8"), parse_constant=no_number)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON: {error}") from error
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
    record: Record = _value(Record, values, "", str(path))
    unknown = next((each.kind for each in record.decodings if each.kind not in KINDS), None)
    if unknown is not None:
        raise UserError(f"{path}: 'kind' is {unknown!r}, not one of {', '.join(KINDS)}")
    return record


def record_path(path: Path) -> Path:
    """Returns the path of the record of a run's folder; other paths as they are.

    Raises:
        UserError: the folder has no record
    """
    if not path.is_dir():
        return path
    if not (path / RECORD).is_file():
        if is_of_before(path):
            raise UserError(
                f"{path}: has files of an earlier version instead of {RECORD}; convert them once "
                f"with: dc-nmt doctor {path}"
            )
        raise UserError(f"{path}: no {RECORD} in it: the run has not begun, or no run")
    return path / RECORD


def is_of_before(folder: Path) -> bool:
    """Returns True for a run's folder in the form before ``run.json``."""
    if (folder / RECORD).is_file():
        return False
    return (folder / "command.txt").is_file() or any(folder.glob("score*/result.json"))


def record_of(folder: Path) -> Record | None:
    """Returns the record in a folder; None where ``fairseq-train`` left a model alone.

    Raises:
        UserError: the folder is of an earlier version, or its record is unusable
    """
    there = (folder / RECORD).is_file() or is_of_before(folder)
    return read_record(folder) if there else None


def write_record(path: Path, record: Record) -> None:
    """Writes a record; a reader sees the old one or the new one."""
    with replacing(path) as temporary:
        text = json.dumps(asdict(record), indent=2, ensure_ascii=False)
        temporary.write_text(f"{text}\n", "utf-8")


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


def no_number(name: str) -> NoReturn:
    """Refuses NaN and infinities, which Python's JSON accepts.

    Raises:
        ValueError: always
    """
    raise ValueError(f"{name} is no number; score the translation again")


def _value(kind: Any, value: Any, place: str, origin: str) -> Any:
    """Returns a JSON value as `kind`; `place` names it in the record."""
    if is_dataclass(kind):
        return _object(kind, value, place, origin)
    form, inside = get_origin(kind), get_args(kind)
    if form is UnionType:
        if value is None and NoneType in inside:
            return None
        others = [each for each in inside if each is not NoneType]
        if len(others) == 1:
            return _value(others[0], value, place, origin)
        if isinstance(value, tuple(others)):
            return value
        _refuse(value, place, origin, "text, a number, or true")
    if form is tuple:
        if not isinstance(value, list):
            _refuse(value, place, origin, "a list")
        return tuple(
            _value(inside[0], each, f"{place}[{number}]", origin)
            for number, each in enumerate(value)
        )
    if form is dict:
        if not isinstance(value, dict):
            _refuse(value, place, origin, "an object")
        return {k: _value(inside[1], each, f"{place}.{k}", origin) for k, each in value.items()}
    kinds = (int, float) if kind is float else kind
    if not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool):
        _refuse(value, place, origin, _NAMES[kind])
    return value


def _object(kind: Any, values: Any, place: str, origin: str) -> Any:
    if not isinstance(values, dict):
        _refuse(values, place, origin, "an object")
    known, start = get_type_hints(kind), f"{place}." if place else ""
    for name in values:
        if name not in known:
            raise UserError(f"{origin}: '{start}{name}' is unknown; the file was changed by hand")
    for each in fields(kind):
        required = each.default is MISSING and each.default_factory is MISSING
        if required and each.name not in values:
            raise UserError(f"{origin}: '{start}{each.name}' is missing; the file is damaged")
    return kind(
        **{
            name: _value(known[name], value, f"{start}{name}", origin)
            for name, value in values.items()
        }
    )


def _refuse(value: Any, place: str, origin: str, wanted: str) -> NoReturn:
    raise UserError(f"{origin}: '{place}' is {value!r:.60}, not {wanted}; the file is damaged")
