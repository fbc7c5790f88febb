"""Results of analyses, as tables and for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

HIDDEN = {"hidden": True}
"""Metadata of a field that JSON leaves out."""


@dataclass(frozen=True)
class Table:
    """Holds a table of text cells."""

    title: str  # above it, with the quantity and units
    header: Sequence[str]  # names of the columns
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # lines under it


def as_facts(result: Any) -> Any:
    """Returns a result as plain dicts and lists, for JSON.

    Leaves out hidden fields, and what a model has not: fields that are None by default.
    """
    if is_dataclass(result):
        facts = {}
        for part in fields(result):
            value = getattr(result, part.name)
            is_missing = value is None and part.default is None
            if not part.metadata.get("hidden") and not is_missing:
                facts[part.name.rstrip("_")] = as_facts(value)  # from_ is no keyword
        return facts
    if isinstance(result, Mapping):
        return {key: as_facts(value) for key, value in result.items()}
    if isinstance(result, (list, tuple)):
        return [as_facts(value) for value in result]
    return result


def by_layer(rows: Iterable[Any], number: str, **wanted: str) -> dict[int, float]:
    """Returns layer → a number, from the rows that have the `wanted` values, such as a side."""
    numbers = {}
    for row in rows:
        if all(getattr(row, name) == value for name, value in wanted.items()):
            numbers[row.layer] = getattr(row, number)
    return numbers


def layer_table(
    title: str,
    header: Sequence[str],
    rows: Sequence[tuple[list[str], Mapping[int, float]]],
    form: str,
) -> Table:
    """Returns a table with a column for each layer, after those of `header`.

    A row has its first cells, and layer → value; `form` is that of :func:`format`.
    """
    layers = sorted({layer for _, values in rows for layer in values})
    table = Table(title, [*header, *(f"layer {layer}" for layer in layers)])
    for first, values in rows:
        cells = [format(values[layer], form) if layer in values else "" for layer in layers]
        table.rows.append([*first, *cells])
    return table
