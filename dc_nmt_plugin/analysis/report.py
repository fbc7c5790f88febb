"""Results of analyses as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Results = dict[str, dict[str, Any]]
"""label of a run → what an analysis found in it."""


@dataclass(frozen=True)
class Table:
    """Holds a table of text cells.

    Attributes:
        title: above it, with the quantity and units
        header: names of the columns
        rows: cells
        notes: lines under it
    """

    title: str
    header: Sequence[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def by_layer(result: Mapping[str, Any], number: str, **of: str) -> dict[int, float]:
    """Returns layer → a number, from the rows that have the values in `of`, such as a side."""
    rows = [row for row in result["layers"] if row.items() >= of.items()]
    return {row["layer"]: row[number] for row in rows}


def layer_table(
    title: str,
    header: Sequence[str],
    rows: Sequence[tuple[list[str], Mapping[int, float]]],
    form: str,
) -> Table:
    """Returns a table with a column for each layer.

    Args:
        title: of the table
        header: names of the columns before the layers
        rows: first cells, and layer → value
        form: of the values, as for :func:`format`
    """
    layers = sorted({layer for _, values in rows for layer in values})
    table = Table(title, [*header, *(f"layer {layer}" for layer in layers)])
    for first, values in rows:
        cells = [format(values[layer], form) if layer in values else "" for layer in layers]
        table.rows.append([*first, *cells])
    return table
