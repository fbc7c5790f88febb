"""Tables for the terminal, for Markdown and for LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

_LATEX_MARKS = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}", "×": r"$\times$",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}  # fmt: skip


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Formats aligned columns, with numbers to the right except in the first; drops empty columns.

    Args:
        header: names of the columns
        rows: cells, as many in each row as in the header
    """
    names, body = filled_columns(header, rows)
    lines = [names, *body]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    numbers = [all(_is_number(line[i]) for line in body) for i in range(len(names))]
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
    """Returns a table cell: `value` as :func:`format` prints it, empty if unknown."""
    return "" if value is None else format(value, form)


def filled_columns(
    header: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """Returns header and rows without empty columns."""
    keep = [i for i in range(len(header)) if not rows or any(row[i] for row in rows)]
    return [header[i] for i in keep], [[row[i] for i in keep] for row in rows]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Formats a Markdown table without empty columns."""
    names, cells = filled_columns(header, rows)
    lines = [names, ["---"] * len(names), *cells]
    return "\n".join(
        "| " + " | ".join(c.replace("|", r"\|") for c in line) + " |" for line in lines
    )


def latex_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Formats a booktabs tabular without empty columns, the first column to the left."""
    names, cells = filled_columns(header, rows)
    body = [" & ".join(map(latex_text, line)) + r" \\" for line in (names, *cells)]
    columns = "l" + "r" * (len(names) - 1)
    return "\n".join(
        [
            "% \\usepackage{booktabs}",
            f"\\begin{{tabular}}{{{columns}}}",
            "\\toprule",
            body[0],
            "\\midrule",
            *body[1:],
            "\\bottomrule",
            "\\end{tabular}",
        ]
    )


@dataclass(frozen=True)
class Form:
    """A form of tables.

    Attributes:
        write: header and rows → table
        comment: start of the lines around it
    """

    write: Callable[[Sequence[str], Sequence[Sequence[str]]], str]
    comment: str = ""

    def lines(self, notes: Iterable[str]) -> str:
        """Returns lines around a table."""
        return "\n".join(f"{self.comment}{note}" for note in notes)


TEXT, MARKDOWN, LATEX = Form(format_table), Form(markdown_table), Form(latex_table, "% ")


def latex_text(text: str) -> str:
    """Escapes LaTeX's special characters, and sets minus signs of numbers in maths."""
    if re.fullmatch(r"[+-][\d.,]+", text):
        return f"${text}$"
    return "".join(_LATEX_MARKS.get(character, character) for character in text)


def _is_number(cell: str) -> bool:
    return not cell or cell[0].isdigit() or cell[0] in "+-.<"
