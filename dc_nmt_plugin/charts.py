"""Charts of lines and bars in panels that stay readable, however many series they have.

A drawing describes its charts, and :func:`draw_charts` decides on panels, colours and the legend.
A chart with more than :data:`MOST_SERIES` series becomes small multiples: panels with the same
vertical axis, each with a part of the series. The lines of the other parts are grey behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .figure import add_legend, fills, finish_axes, grouped_bars, styles

PANEL = (3.4, 2.8)  # inches of a panel among others
OF_TWO = (4.0, 3.0)  # of one of two
ALONE = (6.4, 3.6)  # of a single one
LONG_NAME = 26  # letters: a longer name of a vertical axis is smaller
MOST_SERIES = 8  # in a panel
BAR = 0.13  # inches of a bar that lies
FEW_POINTS, MANY_POINTS = 12, 30  # of a line: fewer have large markers, more have none
GREY = {"color": "#cccccc", "linestyle": "-", "linewidth": 1, "zorder": 1}


@dataclass(frozen=True)
class Line:
    """The points of one series.

    Attributes:
        x, y: of the points; NaN leaves a gap
        spread: lowest and highest value at each point, such as those of several seeds
        like: label of another line, whose colour, marker and dashes this one has
        more: settings of matplotlib beside these
    """

    x: Sequence[float]
    y: Sequence[float]
    spread: tuple[Sequence[float], Sequence[float]] | None = None
    like: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Chart:
    """One quantity of several series, as lines or as bars.

    Attributes:
        x, y: names of the horizontal and of the vertical axis, with units
        lines: label → points
        bars: label → one height for each group
        groups: names of the groups of bars
        title: above the panel
        integers: the horizontal axis counts
        across: bars lie, so that long names of groups stand beside them
        wide: takes a row of panels for itself
        most: series in a panel
        finish: is called with each panel, to add what a chart alone has
    """

    x: str
    y: str
    lines: Mapping[str, Line] = field(default_factory=dict)
    bars: Mapping[str, Sequence[float]] = field(default_factory=dict)
    groups: Sequence[str] = ()
    title: str = ""
    integers: bool = False
    across: bool = False
    wide: bool = False
    most: int = MOST_SERIES
    finish: Callable[[Any], None] | None = None

    def parts(self) -> list[list[str]]:
        """Returns the labels of each panel: at most `most`, and nearly the same number."""
        labels = [*self.lines, *self.bars]
        number = max(1, -(-len(labels) // self.most))
        return [
            labels[len(labels) * i // number : len(labels) * (i + 1) // number]
            for i in range(number)
        ]


def draw_charts(
    figure: Any,
    charts: Sequence[Chart],
    *,
    columns: int = 3,
    size: tuple[float, float] | None = None,
) -> None:
    """Draws charts into an empty figure, and gives it the size that they need.

    A series has the same look in all charts. The legend lies below the panels. A part of one
    series has its label as the title instead.

    Args:
        figure: an empty matplotlib figure
        charts: row by row
        columns: panels in a row, at most
        size: inches of a panel; None for the usual ones
    """
    rows = _rows(charts, columns)
    wide = max(map(len, rows))
    width, height = size or {1: ALONE, 2: OF_TWO}.get(sum(map(len, rows)), PANEL)
    heights = [max(_height(chart, height) for chart, _ in row) for row in rows]
    figure.set_size_inches(width * wide, sum(heights))
    grid = figure.add_gridspec(len(rows), wide, height_ratios=heights)
    lines, bars = _looks(charts)
    named: list[Any] = []
    shared: dict[int, Any] = {}  # by chart: the panel whose vertical axis the others have
    for place, row in enumerate(rows):
        for column, (chart, part) in enumerate(row):
            cell = grid[place, :] if chart.wide else grid[place, column]
            axes = figure.add_subplot(cell, sharey=shared.get(id(chart)))
            shared.setdefault(id(chart), axes)
            _draw_lines(axes, chart, part, lines)
            if chart.bars:
                heights_of = {label: chart.bars[label] for label in part}
                grouped_bars(axes, chart.groups, heights_of, bars, across=chart.across)
            alone = len(part) == 1 < len(chart.parts())  # its title says what a legend would
            axes.set_title(part[0] if alone else chart.title, fontsize=9)
            beside = chart.across and column and row[column - 1][0].groups == chart.groups
            finish_axes(axes, chart.x, "" if beside else chart.y, integers=chart.integers)
            if len(chart.y) > LONG_NAME:
                axes.yaxis.label.set_fontsize(8)
            if chart.across:
                axes.tick_params(axis="y", labelsize=8, labelleft=not beside)
            if chart.finish:
                chart.finish(axes)
            named += [] if alone else [axes]
    add_legend(figure, *named)


def _draw_lines(axes: Any, chart: Chart, part: Sequence[str], looks: Mapping[str, Any]) -> None:
    """Draws the lines of one part, and those of the other parts behind them."""
    for label, line in chart.lines.items():
        if label not in part:
            axes.plot(line.x, line.y, **GREY)
            continue
        look = {**looks[line.like or label], **line.more}
        if len(line.x) > FEW_POINTS:
            look |= {"marker": None} if len(line.x) > MANY_POINTS else {"markersize": 3}
        if len(part) == 1 < len(chart.lines):  # grey lines alone are beside it
            look["linestyle"] = "-"
        axes.plot(line.x, line.y, label=label, **look)
        if line.spread and len(line.x) > FEW_POINTS:
            axes.fill_between(line.x, *line.spread, color=look["color"], alpha=0.15)
        elif line.spread:
            axes.vlines(line.x, *line.spread, color=look["color"], linewidth=1)


def _rows(charts: Sequence[Chart], columns: int) -> list[list[tuple[Chart, list[str]]]]:
    """Returns the panels of each row; a chart of several panels begins a row."""
    rows: list[list[tuple[Chart, list[str]]]] = []
    full = True
    for chart in charts:
        parts = chart.parts()
        full = full or chart.wide or (len(parts) > 1 and len(charts) > 1)
        for part in parts:
            if full or len(rows[-1]) == columns:
                rows.append([])
            rows[-1].append((chart, part))
            full = chart.wide
    return rows


def _height(chart: Chart, usual: float) -> float:
    bars = len(chart.groups) * max(map(len, chart.parts()))
    return max(usual, 0.9 + BAR * bars) if chart.across else usual


def _looks(charts: Sequence[Chart]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the look of each line, and of each series of bars."""
    lines: dict[str, Any] = {}
    bars: dict[str, Any] = {}
    next_line, next_bars = styles(), fills()
    for chart in charts:
        for label, line in chart.lines.items():
            if (line.like or label) not in lines:
                lines[line.like or label] = next(next_line)
        for label in chart.bars:
            if label not in bars:
                bars[label] = next(next_bars)
    return lines, bars
