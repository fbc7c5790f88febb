"""Reads the numbers of a document's text that follow from cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .document import Derived
from .schema import Entry, Item
from .written import Located, WrittenDerived


def derived_of(written: Sequence[WrittenDerived], items: Sequence[Item]) -> Iterator[Derived]:
    """Yields the numbers of a document's text that follow from cells.

    Raises:
        UserError: an unknown cell, or one without a number
    """
    for each in written:
        one, other = _cells(each, each.cells, items)
        if other is None or one.value is None or other.value is None:
            raise each.problem(f"cells: {each.cells!r} are not two numbers")
        yield Derived(each.place, each.value, each.unit, each.rule, (one, other), each.note)


def _cells(place: Located, text: str, items: Sequence[Item]) -> tuple[Entry, Entry | None]:
    item, column, *rows = (part.strip() for part in text.split(" | "))
    place.check_choice("cells", item, [each.name for each in items])
    entries = next(each.entries for each in items if each.name == item)
    place.check_choice(f"{item}, column", column, {entry.column for entry in entries})
    found = {entry.row: entry for entry in entries if entry.column == column}
    if not rows or len(rows) > 2:
        raise place.problem(f"cells: {text!r} is not ITEM | COLUMN | ROW, with one row or two")
    for row in rows:
        place.check_choice(f"{item}, {column}", row, found)
    return found[rows[0]], found[rows[1]] if len(rows) > 1 else None
