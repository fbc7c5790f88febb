"""Tables for the terminal, for Markdown and for LaTeX, without empty columns.

Every command prints its tables with them, and the pages of the documentation have them too.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Rows = Sequence[Sequence[str]]
WIDTH = 100  # of a table in a terminal


def number_cell(value: float | None, form: str) -> str:
    """Returns a table cell: `value` as :func:`format` prints it, empty if unknown."""
    return "" if value is None else format(value, form)


def filled_columns(header: Sequence[str], rows: Rows) -> list[list[str]]:
    """Returns the header and the rows, without empty columns."""
    keep = [i for i in range(len(header)) if not rows or any(row[i] for row in rows)]
    return [[line[i] for i in keep] for line in (header, *rows)]


def format_table(header: Sequence[str], rows: Rows) -> str:
    """Formats aligned columns, at most WIDTH wide, with numbers to the right.

    A wider table continues below with the columns that name its rows; a long text in the last
    column has several lines.
    """
    lines = filled_columns(header, rows)
    keys = _naming_columns(lines[1:])
    columns = [
        _aligned(column, number >= keys)
        for number, column in enumerate(zip(*_wrapped(lines), strict=True))
    ]
    texts = []
    for block in _blocks(columns, keys):
        formatted = ["  ".join(cells).rstrip() for cells in zip(*block, strict=True)]
        # wrapped text of the last column has no cells in the other blocks
        texts.append("\n".join(line for line in formatted if line))
    return "\n\n".join(texts)


def _wrapped(lines: Rows) -> list[list[str]]:
    """Returns the lines, with further lines for a long text in the last column."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    room_for_last = max(40, WIDTH - sum(width + 2 for width in widths[:-1]))
    wrapped = []
    for *cells, last in lines:
        first, *more = textwrap.wrap(last, room_for_last) or [""]
        wrapped.append([*cells, first])
        for text in more:
            wrapped.append([""] * len(cells) + [text])
    return wrapped


def _blocks(columns: list[list[str]], keys: int) -> list[list[list[str]]]:
    """Returns blocks of columns that are at most WIDTH wide; each begins with the key columns."""
    blocks = [columns[:keys]]
    for column in columns[keys:]:
        used = sum(len(known[0]) + 2 for known in blocks[-1])
        if used + len(column[0]) > WIDTH and len(blocks[-1]) > keys:
            blocks.append(columns[:keys])
        blocks[-1].append(column)
    return blocks


def _naming_columns(rows: Rows) -> int:
    """Returns how many columns it takes to name each row: one, or more, up to the numbers."""
    columns, keys = list(zip(*rows, strict=True)), 1
    while keys + 1 < len(columns) and not _are_numbers(columns[keys]):
        if len({tuple(row[:keys]) for row in rows}) == len(rows):
            break
        keys += 1
    return keys


def _aligned(column: Sequence[str], is_value: bool) -> list[str]:
    """Returns the cells of a column in one width, with a rule under the header."""
    header, *cells = column
    width = max(map(len, column))
    align = str.rjust if is_value and _are_numbers(cells) else str.ljust
    return [align(header, width), "-" * width, *(align(cell, width) for cell in cells)]


def _are_numbers(cells: Sequence[str]) -> bool:
    return all(not cell or cell[0] in "0123456789+-.<" for cell in cells)


def markdown_table(header: Sequence[str], rows: Rows) -> str:
    names, *cells = filled_columns(header, rows)
    lines = [names, ["---"] * len(names), *cells]
    lines = [[cell.replace("|", r"\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def latex_table(header: Sequence[str], rows: Rows) -> str:
    """Formats a booktabs tabular, with signed numbers in maths and the first column to the left."""
    from tabulate import tabulate

    names, *cells = filled_columns(header, rows)
    sides = ["left", *["right"] * (len(names) - 1)]
    text = tabulate(cells, names, "latex_booktabs", disable_numparse=True, colalign=sides)
    signed = re.sub(r"(?<= )[+-][\d.,]+(?= )", r"$\g<0>$", text)
    return f"% \\usepackage{{booktabs}}\n{signed}"


@dataclass(frozen=True)
class Form:
    """A form of tables, and of the notes beside a table."""

    write: Callable[..., str]  # of header and rows
    note: str = ""  # start of a note's line
    code: str = ""  # around names and signatures

    def lines(self, notes: Iterable[str]) -> str:
        return "\n".join(f"{self.note}{note}" for note in notes)


TEXT = Form(format_table)
MARKDOWN = Form(markdown_table, note="- ", code="`")
LATEX = Form(latex_table, note="% ")
