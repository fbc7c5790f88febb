"""Charts: one quantity of several runs, as lines or as bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import UsageError, printable
from ...laboratory.plot import ALONE, COLOURS

# one more than colours, and one less: no two of the first 42 series have both
MARKERS = "osD^vPX*"
HATCHES = ("", "//", "..", "xx", "\\\\", "++")
DASHES = ("-", "--", "-.", ":")
HEAT = "Blues"  # light to dark: a darker shade is more, also in grey
PANEL = (3.4, 2.8)  # inches of one of several charts
MOST_LABELS = 60  # of an axis


@dataclass(frozen=True)
class Look:
    """Numbers that decide how a series looks: its colour, and its marker, dashes and hatches."""

    colour: int
    number: int


@dataclass(frozen=True)
class Chart:
    """One quantity of several series, as lines or as bars."""

    x: str  # names of the axes, with units
    y: str
    # label → x, such as a layer → height; NaN leaves a gap
    lines: Mapping[str, Mapping[Any, float]] = field(default_factory=dict)
    bars: Mapping[str, Sequence[float]] = field(default_factory=dict)  # label → heights of groups
    groups: Sequence[str] = ()  # of bars
    title: str = ""
    finish: Callable[[Any], None] | None = None  # adds to the panel what this chart alone has

    @property
    def has_numbers(self) -> bool:
        heights = [height for points in self.lines.values() for height in points.values()]
        heights += [height for bar in self.bars.values() for height in bar]
        return any(math.isfinite(height) for height in heights)


def draw_charts(
    figure: Any,
    charts: Sequence[Chart],
    *,
    columns: int = 3,
    size: tuple[float, float] | None = None,  # inches of a panel
    runs: Sequence[str] = (),
) -> None:
    """Draws a panel for each chart that has a number, `columns` in a row.

    A series has the same look in all. Series whose labels begin with one of `runs` have the colour
    of this run, and differ in markers and hatches.

    Raises:
        UsageError: no chart has a number
    """
    charts = [chart for chart in charts if chart.has_numbers]
    if not charts:
        raise UsageError("--plot: there is nothing to draw; the table says why.")
    columns = max(1, min(columns, len(charts)))
    rows = -(-len(charts) // columns)
    width, height = size or (ALONE if len(charts) == 1 else PANEL)
    figure.set_size_inches(width * columns, height * rows)
    looks = _looks(charts, runs)
    for panel, chart in enumerate(charts, start=1):
        _draw_chart(figure.add_subplot(rows, columns, panel), chart, looks)
    _add_legend(figure)


def _looks(charts: Sequence[Chart], runs: Sequence[str]) -> dict[str, Look]:
    """Returns label of a series → its look."""
    labels = dict.fromkeys(label for chart in charts for label in (*chart.lines, *chart.bars))
    looks = {"": Look(0, 0)}
    for number, label in enumerate(filter(None, labels)):
        of_run = [run for run, name in enumerate(runs) if f"{label} ".startswith(f"{name} ")]
        looks[label] = Look(of_run[-1] if of_run else number, number)
    return looks


def _draw_chart(axes: Any, chart: Chart, looks: Mapping[str, Look]) -> None:
    from matplotlib.ticker import MaxNLocator

    for label, points in chart.lines.items():
        _draw_line(axes, label, points, looks[label])
    if chart.lines:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if chart.bars:
        _draw_bars(axes, chart, looks)
    axes.set_title(chart.title, fontsize=9)
    axes.set_xlabel(chart.x)
    axes.set_ylabel(chart.y)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if chart.finish:
        chart.finish(axes)


def shown_labels(number: int) -> range:
    """Returns which of so many labels of an axis are shown, so that they stay readable."""
    return range(0, number, -(-number // MOST_LABELS) or 1)


def _draw_line(axes: Any, label: str, points: Mapping[Any, float], look: Look) -> None:
    axes.plot(
        [*points],
        [*points.values()],
        label=_in_legend(label),
        color=COLOURS[look.colour % len(COLOURS)],
        marker=MARKERS[look.number % len(MARKERS)],
        linestyle=DASHES[look.number % len(DASHES)],
        markersize=5,
        markevery=-(-len(points) // 12) or None,  # at most 12 markers
    )


def _in_legend(label: str) -> str:
    label = printable(label)
    return f" {label}" if label.startswith("_") else label  # matplotlib leaves those out


def _draw_bars(axes: Any, chart: Chart, looks: Mapping[str, Look]) -> None:
    groups = range(len(chart.groups))
    width = min(0.3, 0.8 / len(chart.bars))  # of the distance between two groups
    for bar, (label, heights) in enumerate(chart.bars.items()):
        shift = width * (bar + 0.5 - len(chart.bars) / 2)
        axes.bar(
            [group + shift for group in groups],
            heights,
            width,
            label=_in_legend(label) or None,
            color=COLOURS[looks[label].colour % len(COLOURS)],
            hatch=HATCHES[looks[label].number % len(HATCHES)],
            edgecolor="white",
        )
    room = 1.0 if len(groups) < 3 else 0.6  # a bar alone does not fill its panel
    # a label has the width of its group, in which letters of 8 points are 0.08 inches wide
    width_of_panel = axes.get_figure().get_size_inches()[0] / axes.get_gridspec().ncols
    longest = max(map(len, chart.groups))
    is_long = longest > 8 and longest * 0.08 > width_of_panel / len(groups)
    style = {"rotation": 20, "ha": "right"} if is_long else {}
    shown = shown_labels(len(groups))
    axes.set_xticks(shown, [chart.groups[i] for i in shown], fontsize=8, **style)
    axes.set_xlim(-room, len(groups) - 1 + room)


def _add_legend(figure: Any) -> None:
    """Adds one legend, with every label once, below the panels, where it hides nothing."""
    shown: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, handle)
    if not shown:
        return
    width, height = figure.get_size_inches()
    longest = max(map(len, shown))
    columns = min(max(1, int(width * 12 / (longest + 6))), len(shown), 4)  # 12 letters an inch
    figure.set_size_inches(width, height + 0.2 * -(-len(shown) // columns))
    figure.legend(
        shown.values(),
        shown.keys(),
        loc="outside lower center",
        fontsize=8,
        frameon=False,
        ncols=columns,
    )
