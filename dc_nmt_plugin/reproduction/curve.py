"""Figures of numbers against a setting: kernel size, layers, …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan, nan
from pathlib import Path

from ..errors import UserError
from ..figure import Chart, Line, draw_charts, new_figure, save
from .comparison import Cell
from .producers import POINT


def series(
    cells: Sequence[Cell], origin: Mapping[str, str] | None = None
) -> tuple[str, dict[str, list[tuple[int, Cell]]]]:
    """Returns the name of the setting, and the points of each curve.

    Args:
        origin: rows that are the first point of every curve → the point, such as ``n = 1``

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
    for cell in cells:
        first = POINT.fullmatch((origin or {}).get(cell.row, ""))
        if first and cell.measure not in ("params", "train-steps"):
            for points in found.values():
                points.insert(0, (int(first[3]), cell))
    if not found:
        raise UserError("its rows are not values of a setting, so there is no curve")
    return setting, found


def draw(
    cells: Sequence[Cell], title: str, path: Path, origin: Mapping[str, str] | None = None
) -> list[Path]:
    """Draws measured (with deviation over seeds) and published points; missing points are gaps.

    Args:
        origin: as for :func:`series`

    Returns:
        the files written
    """
    setting, curves = series(cells, origin)
    lines = {}
    for name, points in curves.items():
        x = [value for value, _ in points]
        # no line over a missing point
        measured = [nan if cell.mean is None else cell.mean for _, cell in points]
        printed = [nan if cell.published is None else float(cell.published) for _, cell in points]
        spread = (
            [nan if cell.mean is None else cell.mean - (cell.deviation or 0) for _, cell in points],
            [nan if cell.mean is None else cell.mean + (cell.deviation or 0) for _, cell in points],
        )
        start = f"{name}, " if len(curves) > 1 else ""
        other = ", other settings" if any(cell.other_settings for _, cell in points) else ""
        if not all(map(isnan, measured)):
            lines[f"{start}measured{other}"] = Line(x, measured, spread, like=name)
        if not all(map(isnan, printed)):
            dotted = {"linestyle": ":", "fillstyle": "none"}
            lines[f"{start}published"] = Line(x, printed, like=name, more=dotted)
    measure = next(iter(curves.values()))[0][1].measure
    figure = new_figure()
    draw_charts(figure, [Chart(setting, measure, lines, title=title, integers=True)])
    return save(figure, path)
