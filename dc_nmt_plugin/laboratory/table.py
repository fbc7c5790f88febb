"""Tables for the terminal, for Markdown and for LaTeX, without empty columns; names of their rows.

Every command prints its tables with them, and the pages of the documentation have them too.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError, counted, printable

Rows = Sequence[Sequence[str]]
WIDTH = 100  # of a table in a terminal
PAGE = 94  # characters of a table in LaTeX: 445 pt, a page with margins of an inch


def chosen_names(chosen: Sequence[str] | None, default: Sequence[str]) -> list[str]:
    """Returns the names of ``--names``, or the default names without that flag.

    Raises:
        UsageError: another number of names, or one name twice
    """
    if chosen and len(chosen) != len(default):
        raise UsageError(f"--names: {len(chosen)} for {counted(len(default), 'system')}")
    names = list(chosen or default)
    if len(set(names)) < len(names):
        raise UsageError(f"--names: give each system a name of its own, not {', '.join(names)}")
    return names


def distinguished(names: Sequence[str], paths: Sequence[Path]) -> list[str]:
    """Returns names; equal names of several paths become paths from the folder that they share."""
    labels = list(names)
    for name in set(names):
        equal = [number for number, label in enumerate(names) if label == name]
        if len({paths[number] for number in equal}) > 1:
            shared = os.path.commonpath([paths[number].parent for number in equal])
            for number in equal:
                labels[number] = paths[number].relative_to(shared).as_posix()
    return labels


def number_cell(value: float | None, form: str) -> str:
    """Returns a table cell: `value` as :func:`format` prints it, empty if unknown."""
    return "" if value is None else format(value, form)


def filled_columns(header: Sequence[str], rows: Rows) -> list[list[str]]:
    """Returns the header and the rows, printable and without empty columns."""
    keep = [i for i in range(len(header)) if not rows or any(row[i] for row in rows)]
    return [[printable(line[i]) for i in keep] for line in (header, *rows)]


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
    """Formats a booktabs tabular, with numbers to the right, and signed numbers in maths."""
    from tabulate import tabulate

    names, *cells = filled_columns(header, rows)
    columns = list(zip(*cells, strict=True)) or [()] * len(names)
    sides = ["left"]
    for column in columns[1:]:
        numbers = _are_numbers([cell.lstrip("[") for cell in column])  # and intervals
        sides.append("right" if numbers else "left")
    text = tabulate(cells, names, "latex_booktabs", disable_numparse=True, colalign=sides)
    return f"% \\usepackage{{booktabs}}\n{_SIGNED.sub(_in_maths, text)}"


# a number with its sign, alone in a cell or as the end of an interval, and stars
_SIGNED = re.compile(r"(?<=[ \[])([+-]\d[\d.]*(?:,\d{3})*)(\**)(?=[ ,\]])")


def _in_maths(match: re.Match[str]) -> str:
    stars = f"^{{{match[2]}}}" if match[2] else ""
    return f"${match[1]}{stars}$"


@dataclass(frozen=True)
class Form:
    """A form of tables, and of the notes beside a table."""

    write: Callable[..., str]  # of header and rows
    note: str = ""  # start of a note's line
    code: str = ""  # around names and signatures

    def lines(self, notes: Iterable[str]) -> str:
        return "\n".join(f"{self.note}{printable(note)}" for note in notes)


@dataclass(frozen=True)
class NamedColumns:
    """A table whose columns have the names that ``--columns`` takes.

    Attributes:
        headings: name → heading, in the order of the table
        rows: name → cell
        on_a_page: names by importance: LaTeX has as many of these columns as a page is wide
    """

    headings: Mapping[str, str]
    rows: Sequence[Mapping[str, str]]
    on_a_page: Sequence[str]

    def written(self, form: Form, names: Sequence[str] | None) -> str:
        """Returns the table with the columns of these names; None: those that suit the form."""
        if not names:
            names = self._fitting() if form is LATEX else tuple(self.headings)
        header = [self.headings[name] for name in names]
        return form.write(header, [[row[name] for name in names] for row in self.rows])

    def _fitting(self) -> list[str]:
        used = 0
        fitting = set()
        for name in self.on_a_page:
            cells = [row[name] for row in self.rows]
            if not any(cells):  # a table leaves an empty column out
                continue
            used += max(map(len, (self.headings[name], *cells))) + 2
            if used > PAGE:
                break
            fitting.add(name)
        return [name for name in self.headings if name in fitting]


TEXT = Form(format_table)
MARKDOWN = Form(markdown_table, note="- ", code="`")
LATEX = Form(latex_table, note="% ")
