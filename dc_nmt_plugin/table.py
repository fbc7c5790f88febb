"""Tables for the terminal, for Markdown and for LaTeX, without empty columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Rows = Sequence[Sequence[str]]
WIDTH = 100  # of a table in a terminal
LEAST = 40  # of a last column whose text is wrapped
_LATEX_MARKS = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}", "×": r"$\times$",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}  # fmt: skip


def number_cell(value: float | None, form: str) -> str:
    """Returns a table cell: `value` as :func:`format` prints it, empty if unknown."""
    return "" if value is None else format(value, form)


def filled_columns(header: Sequence[str], rows: Rows) -> list[list[str]]:
    """Returns the header and the rows, without empty columns."""
    keep = [i for i in range(len(header)) if not rows or any(row[i] for row in rows)]
    return [[line[i] for i in keep] for line in (header, *rows)]


def format_table(header: Sequence[str], rows: Rows, keys: int = 1) -> str:
    """Formats aligned columns, at most WIDTH wide, with numbers to the right.

    A wider table continues below with its first columns again; a cell that is too long for a line
    has several.

    Args:
        keys: number of columns that name a row
    """
    columns = [list(column) for column in zip(*filled_columns(header, rows), strict=True)]
    widths = [max(map(len, column)) for column in columns]
    left = sum(widths[:keys]) + 2 * keys
    blocks: list[list[int]] = []
    used = WIDTH
    widths[-1] = min(widths[-1], LEAST)
    for number in range(keys, len(columns)):
        if used + widths[number] > WIDTH:
            blocks.append(list(range(keys)))
            used = left
        blocks[-1].append(number)
        used += widths[number] + 2
    blocks = blocks or [list(range(len(columns)))]
    return "\n\n".join(_block([columns[n] for n in block], keys) for block in blocks)


def _block(columns: list[list[str]], keys: int) -> str:
    """Formats columns beside each other; of the last one, long cells are wrapped."""
    *others, last = columns
    room = max(LEAST, WIDTH - sum(max(map(len, column)) + 2 for column in others))
    formatted = []
    for number, column in enumerate(columns):
        numbers = number >= keys and all(not c or c[0] in "0123456789+-.<" for c in column[1:])
        width = min(max(map(len, column)), room) if column is last else max(map(len, column))
        formatted.append((width, str.rjust if numbers else str.ljust))
    lines = []
    for row in zip(*columns, strict=True):
        first, *more = textwrap.wrap(row[-1], room) or [""]
        parts = [(*row[:-1], first), *((*[""] * len(others), text) for text in more)]
        for part in parts:
            cells = [
                place(cell, width) for cell, (width, place) in zip(part, formatted, strict=True)
            ]
            lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width, _ in formatted))
    return "\n".join(lines)


def markdown_table(header: Sequence[str], rows: Rows) -> str:
    """Formats a Markdown table."""
    names, *cells = filled_columns(header, rows)
    lines = [names, ["---"] * len(names), *cells]
    lines = [[cell.replace("|", r"\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def latex_table(header: Sequence[str], rows: Rows) -> str:
    """Formats a booktabs tabular, with signed numbers in maths and the first column to the left."""
    lines = filled_columns(header, rows)
    names, *cells = [" & ".join(map(latex_text, line)) + r" \\" for line in lines]
    columns = "l" + "r" * (len(lines[0]) - 1)
    begin = ["% \\usepackage{booktabs}", f"\\begin{{tabular}}{{{columns}}}", r"\toprule"]
    return "\n".join([*begin, names, r"\midrule", *cells, r"\bottomrule", r"\end{tabular}"])


def latex_text(text: str) -> str:
    """Escapes LaTeX's special characters, and sets minus signs of numbers in maths."""
    if re.fullmatch(r"[+-][\d.,]+", text):
        return f"${text}$"
    return "".join(_LATEX_MARKS.get(character, character) for character in text)


@dataclass(frozen=True)
class Form:
    """A form of tables: its function, and the start of the lines around a table."""

    write: Callable[..., str]  # of header and rows
    comment: str = ""

    def lines(self, notes: Iterable[str]) -> str:
        """Returns lines around a table."""
        return "\n".join(f"{self.comment}{note}" for note in notes)


TEXT, MARKDOWN, LATEX = Form(format_table), Form(markdown_table), Form(latex_table, "% ")
