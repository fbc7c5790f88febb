"""Tables for the terminal, for Markdown and for LaTeX, without empty columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Rows = Sequence[Sequence[str]]
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


def format_table(header: Sequence[str], rows: Rows) -> str:
    """Formats aligned columns, with numbers to the right except in the first column."""
    columns: list[list[str]] = []
    for column in zip(*filled_columns(header, rows), strict=True):
        width = max(map(len, column))
        numbers = columns and all(not cell or cell[0] in "0123456789+-.<" for cell in column[1:])
        cells = [cell.rjust(width) if numbers else cell.ljust(width) for cell in column]
        columns.append([cells[0], "-" * width, *cells[1:]])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


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

    write: Callable[[Sequence[str], Rows], str]
    comment: str = ""

    def lines(self, notes: Iterable[str]) -> str:
        """Returns lines around a table."""
        return "\n".join(f"{self.comment}{note}" for note in notes)


TEXT, MARKDOWN, LATEX = Form(format_table), Form(markdown_table), Form(latex_table, "% ")
