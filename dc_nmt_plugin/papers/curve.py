"""Figures of numbers against a setting: kernel size, layers, …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import Any

from ..errors import UserError
from ..figure import Chart, Line, draw_charts, new_figure
from .comparison import Cell
from .selection import POINT


def series(
    cells: Sequence[Cell], origin: Mapping[str, str]
) -> tuple[str, dict[str, list[tuple[int, Cell]]]]:
    """Returns the name of the setting, and the points of each curve.

    Args:
        origin: rows that are the first point of every curve → the point, such as ``n = 1``

    Raises:
        UserError: rows are not values of a setting
    """
    curves: dict[str, list[tuple[int, Cell]]] = {}
    setting = ""
    scores = [cell for cell in cells if cell.measure not in ("params", "train-steps")]
    for cell in scores:
        match = POINT.fullmatch(cell.row)
        if match:
            setting = match[2]
            curves.setdefault(match[1] or cell.column, []).append((int(match[3]), cell))
    for cell in scores:
        first = POINT.fullmatch(origin.get(cell.row, ""))
        if first:
            for points in curves.values():
                points.insert(0, (int(first[3]), cell))
    if not curves:
        raise UserError("its rows are not values of a setting, so there is no curve")
    return setting, curves


def draw(cells: Sequence[Cell], title: str, origin: Mapping[str, str]) -> Any:
    """Draws measured (with deviation over seeds) and published points; missing points are gaps.

    Args:
        origin: as for :func:`series`

    Returns:
        Matplotlib's figure
    """
    setting, curves = series(cells, origin)
    lines = {}
    for name, points in curves.items():
        x = [value for value, _ in points]
        # no line over a missing point
        measured = [nan if cell.mean is None else cell.mean for _, cell in points]
        published = [nan if cell.published is None else float(cell.published) for _, cell in points]
        deviations = [cell.deviation or 0 for _, cell in points]
        low = [mean - deviation for mean, deviation in zip(measured, deviations, strict=True)]
        high = [mean + deviation for mean, deviation in zip(measured, deviations, strict=True)]
        start = f"{name}, " if len(curves) > 1 else ""
        other = ", other settings" if any(cell.other_settings for _, cell in points) else ""
        if not all(map(isnan, measured)):
            lines[f"{start}measured{other}"] = Line(x, measured, (low, high), like=name)
        if not all(map(isnan, published)):
            dotted = {"linestyle": ":", "fillstyle": "none"}
            lines[f"{start}published"] = Line(x, published, like=name, more=dotted)
    measure = next(iter(curves.values()))[0][1].measure
    figure = new_figure()
    draw_charts(figure, [Chart(setting, measure, lines, title=title, integers=True)])
    return figure
