"""A figure of numbers against a setting: kernel size, layers, …"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..analysis.figure import finish_axes, new_figure, save, styles
from ..errors import UserError
from .comparison import Cell

POINT = re.compile(r"(?:(.*), )?(\w) = (\d+)")


def series(cells: Sequence[Cell]) -> tuple[str, dict[str, list[tuple[int, Cell]]]]:
    """Name of the setting, and curve → its points.

    Raises:
        UserError: rows are not values of a setting
    """
    found: dict[str, list[tuple[int, Cell]]] = {}
    setting = ""
    for cell in cells:
        match = POINT.fullmatch(cell.row)
        if match and cell.measure not in ("params", "train-steps"):
            setting = match[2]
            found.setdefault(match[1] or cell.column, []).append((int(match[3]), cell))
    if not found:
        raise UserError("its rows are not values of a setting, so there is no curve")
    return setting, found


def draw(cells: Sequence[Cell], title: str, path: Path) -> list[Path]:
    """Draw ours with the seeds' deviation, and what is published; missing points are left out.

    Returns:
        the files written
    """
    setting, curves = series(cells)
    figure = new_figure((6.4, 4.0))
    axes = figure.add_subplot()
    for (name, points), style in zip(curves.items(), styles(), strict=False):
        ours = [(x, c.mean, c.deviation or 0.0) for x, c in points if c.mean is not None]
        printed = [(x, float(c.published)) for x, c in points if c.published is not None]
        color = style.get("color")
        if ours:
            x, y, error = zip(*ours, strict=True)
            axes.errorbar(x, y, yerr=error, capsize=2, label=name or "ours", **style)
        if printed:
            x, y = zip(*printed, strict=True)
            label = f"{name}, published" if name else "published"
            axes.plot(x, y, linestyle=":", marker="x", color=color, label=label)
    axes.set_title(title)
    measure = next(iter(curves.values()))[0][1].measure
    finish_axes(axes, setting, measure, integers=True)
    axes.legend()
    return save(figure, path)
