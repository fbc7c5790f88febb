"""Reads ``data/DOCUMENT.yaml`` and merges the settings of each entry; finds items by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ...errors import UsageError, check_choices, did_you_mean
from ...laboratory.typed_yaml import read_yaml
from .document import SCORES, Cell, Document, Entry, Item, Row, Settings

DATA = Path(__file__).parent / "data"
DOCUMENTS = ("dual-context", "context-aware", "cross-aggregation", "thesis", "residual-decoder")
# command that shows a measure, unless the file names one
_COMMANDS = {"params": "paper parameters", "accuracy": "probe"}


@cache
def read_document(name: str) -> Document:
    """Returns a document by its name, such as ``thesis``.

    Raises:
        UserError: no such document
    """
    check_choices("document", [name], DOCUMENTS)
    return read_file(DATA / f"{name}.yaml")


def read_documents() -> tuple[Document, ...]:
    """Returns all five documents."""
    return tuple(read_document(name) for name in DOCUMENTS)


def find_item(name: str) -> Item:
    """Returns an item by ``DOCUMENT, ITEM``, such as ``thesis, Table 3.4`` or ``thesis, tab 3.4``.

    Raises:
        UserError: no such item, with the nearest
    """
    document, _, item = (part.strip() for part in name.partition(","))
    if not item:
        raise UsageError(
            f"{name}: is no item such as 'thesis, Table 3.4'; dc-nmt paper list prints all"
        )
    items = {known.name: known for known in read_document(document).items}
    item = re.sub(r"^fig(ure|\.)?\s*(?=\d)", "Figure ", item, flags=re.IGNORECASE)
    item = re.sub(r"^tab(le|\.)?\s*(?=\d)", "Table ", item, flags=re.IGNORECASE)
    if item not in items:
        raise UsageError(f"{document} has no {item!r}.{did_you_mean(item, items, 3)}")
    return items[item]


def read_file(path: Path) -> Document:
    """Returns a document from its file.

    Raises:
        UserError: an unknown key, or a value of another type
    """
    document = read_yaml(path, Document)
    document.name = path.stem
    for item in document.items:
        item.document = document.name
        for row in item.rows:
            for column, cell in _cells(item, row):
                item.entries.append(_entry(document, item, row, column, cell))
    return document


def _cells(item: Item, row: Row) -> Iterator[tuple[str, Cell]]:
    """Yields a row's cells by column; numbers that only a picture shows have no value."""
    columns = list(item.columns) or [""]
    written = dict(row.values)
    if row.value is not None:
        written[columns[0]] = row.value
    absent = row.absent or item.absent
    for name in columns:
        cell = written.get(name)
        if isinstance(cell, Cell):
            yield name, cell
        elif cell is not None:
            yield name, Cell(value=cell)
        elif absent:
            yield name, Cell(absent=absent)


def _entry(document: Document, item: Item, row: Row, column: str, cell: Cell) -> Entry:
    entry = _merged(document.tasks, (item, item.columns.get(column, Settings()), row, cell))
    score, size = entry.pop("score", ""), entry.pop("size", "")
    measure = entry.setdefault("measure", score)
    if "other" in entry:
        entry["system"], entry["arch"] = entry["other"], ""
        # the program that counted another author's BLEU is not printed
        entry["measure"] = "bleu" if measure in SCORES or not measure else measure
        if not row.reproducible:
            entry["reproducible"] = "reported by other authors"
    else:
        system = document.systems[entry["system"]]
        entry["arch"] = f"{system.arch}_{size}" if size else system.arch
        entry["flags"] = {**system.flags, **entry.get("flags", {})}
    entry.setdefault("by", _COMMANDS.get(measure, "paper run"))
    entry.setdefault("against", "" if item.baseline == row.label else item.baseline)
    return Entry(
        document=document.name,
        item=item.name,
        row=row.label,
        column=column,
        value=cell.value,
        difference=cell.difference,
        p=cell.p,
        text=cell.text,
        read=cell.read,
        absent=cell.absent,
        note="; ".join(note for note in (row.note, cell.note) if note),
        **entry,
    )


def _merged(tasks: Mapping[str, Settings], levels: Iterable[Settings]) -> dict[str, Any]:
    """Returns the settings of several levels, such as item and row; later ones override."""
    merged: dict[str, Any] = {}
    for level in levels:
        if level.on:
            _override(merged, tasks[level.on])
        _override(merged, level)
    return merged


def _override(merged: dict[str, Any], level: Settings) -> None:
    """Puts the settings that a level has into `merged`; flags are added to those before."""
    for name in Settings.__struct_fields__:
        value = getattr(level, name)
        if isinstance(value, dict):
            value = {**merged.get(name, {}), **value}
        if value and name != "on":
            merged[name] = value
    # a system of this package takes the place of another author's, and the reverse
    if level.system:
        merged.pop("other", None)
    if level.other:
        merged.pop("system", None)
