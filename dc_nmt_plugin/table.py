"""Plain tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned, those of numbers to the right but for the first; empty columns left out.

    Args:
        header: names of the columns
        rows: cells, as many a row as the header has
    """
    lines = [list(header), *[list(row) for row in rows]]
    keep = [i for i in range(len(header)) if not rows or any(row[i] for row in rows)]
    lines = [[line[i] for i in keep] for line in lines]
    widths = [max(len(line[i]) for line in lines) for i in range(len(keep))]
    numbers = [all(_is_number(line[i]) for line in lines[1:]) for i in range(len(keep))]
    text = []
    for line in lines:
        cells = [
            cell.rjust(width) if i and numbers[i] else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  ".join(cells).rstrip())
    text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(text)


def number_cell(value: float | None, form: str) -> str:
    """A table's cell: `value` as :func:`format` has it, empty where it is unknown."""
    return "" if value is None else format(value, form)


def _is_number(cell: str) -> bool:
    return not cell or cell[0].isdigit() or cell[0] in "+-."
