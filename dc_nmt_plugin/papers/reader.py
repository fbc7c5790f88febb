"""Reads ``data/DOCUMENT.yaml``, with the settings of each entry and the parts of each item."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import UsageError, check_choices, did_you_mean
from ..files import read_yaml
from .document import (
    SCORES,
    Cell,
    Column,
    Derived,
    Document,
    Entry,
    Group,
    Item,
    Part,
    Row,
    Settings,
)

DATA = Path(__file__).parent / "data"
DOCUMENTS = ("dual-context", "context-aware", "cross-aggregation", "thesis", "residual-decoder")

# command that shows a part, by the measure of its entries
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


def derived_of(item: Item) -> list[Derived]:
    """Returns the numbers of the text that follow from cells of an item."""
    derived = read_document(item.document).derived
    return [each for each in derived if each.item == item.name]


def find_item(name: str) -> Item:
    """Returns an item by ``DOCUMENT, ITEM``, such as ``thesis, Table 3.4`` or ``thesis, tab 3.4``.

    Raises:
        UserError: no such item, with the nearest
    """
    document, _, item = (part.strip() for part in name.partition(","))
    items = {each.name: each for each in read_document(document).items}
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
        item.entries = [
            _entry(document, item, row, column, cell)
            for row in item.rows
            for column, cell in _cells(item, row)
        ]
        item.parts = list(_parts(item))
    for each in document.derived:
        name, column, *rows = each.cells.split(" | ")
        for row in rows:
            each.pair += [e for e in document.entries if (e.item, *e.cell) == (name, row, column)]
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
    places = (item, item.columns.get(column, Column()), row, cell)
    settings = _merged(document.tasks, places)
    score, size = settings.pop("score", ""), settings.pop("size", "")
    flags = settings.pop("flags", {})
    measure = settings.pop("measure", score)
    if "other" in settings:
        settings["system"] = settings["other"]
        # the program that counted another author's BLEU is not printed
        measure = "bleu" if measure in SCORES or not measure else measure
    else:
        system = document.systems[settings["system"]]
        settings["arch"] = f"{system.arch}_{size}" if size else system.arch
        settings["flags"] = {**system.flags, **flags}
    settings.setdefault("against", "" if item.baseline == row.label else item.baseline)
    return Entry(
        document=document.name,
        item=item.name,
        row=row.label,
        column=column,
        measure=measure,
        value=cell.value,
        difference=cell.difference,
        p=cell.p,
        text=cell.text,
        read=cell.read,
        absent=cell.absent,
        note="; ".join(note for note in (row.note, cell.note) if note),
        **settings,
    )


def _merged(tasks: Mapping[str, Settings], places: Iterable[Settings]) -> dict[str, Any]:
    """Returns the settings of several places; later ones override earlier ones."""
    merged: dict[str, Any] = {}
    for place in places:
        for source in (tasks[place.on], place) if place.on else (place,):
            for name in Settings.__struct_fields__:
                value = getattr(source, name)
                if value is None or name == "on":
                    continue
                if isinstance(value, dict):
                    value = {**merged.get(name, {}), **value}
                merged[name] = value
                if name in ("system", "other"):  # either of them takes the place of both
                    merged.pop("other" if name == "system" else "system", None)
    return merged


def _parts(item: Item) -> Iterator[Part]:
    """Yields a part for each row or cell that is in no group, then the groups.

    Systems of other authors are one part, unless their row says itself whether it is reproducible.
    """
    taken = {entry.cell for group in item.groups for entry in _picked(group, item.entries)}
    named_rows = {name for group in item.groups for name in group.rows}
    free = [entry for entry in item.entries if entry.cell not in taken]
    judged = {row.label for row in item.rows if row.reproducible}
    others = [entry for entry in free if entry.other and entry.row not in judged]
    with_entries = {entry.row for entry in item.entries}

    for row in item.rows:
        own = [entry for entry in free if entry.row == row.label and entry not in others]
        if item.split == "cell":
            for entry in own:
                column = item.columns[entry.column]
                yield _part(f"{row.label}, {entry.column}", (row, column, item), [entry])
        elif own or (row.label not in with_entries and row.label not in named_rows):
            yield _part(row.label, (row, item), own)
    for group in item.groups:
        yield _part(group.name, (group, item), _picked(group, item.entries), group.shows)
    if others:
        reported = Column(reproducible="reported by other authors")
        yield _part("other systems", (reported, item), others)


def _picked(group: Group, entries: Sequence[Entry]) -> list[Entry]:
    """Returns the entries in a group's rows and columns; none for a group without both."""
    return [
        entry
        for entry in entries
        if (group.rows or group.columns)
        and (not group.rows or entry.row in group.rows)
        and (not group.columns or entry.column in group.columns)
    ]


def _part(
    name: str, places: Sequence[Column | Group], entries: list[Entry], shows: str = ""
) -> Part:
    by = [place.by for place in places if place.by]
    by.append(_COMMANDS.get(entries[0].measure if entries else "", "paper run"))
    reproducible = [place.reproducible for place in places if place.reproducible]
    return Part(
        name=name, shows=shows, by=by[0], reproducible=reproducible[0], entries=tuple(entries)
    )
