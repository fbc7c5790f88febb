"""Figures (PNG, SVG, PDF) that stay readable in print and for colour-blind readers.

:func:`draw_charts` draws lines and bars in panels. The legend lies below them, so that it hides
nothing.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .files import replacing

# M. Okabe, K. Ito, "Color Universal Design", 2008; the yellow is too light for lines on paper
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
# one more than colours, and one less: no two of the first 42 series have both
MARKERS = "osD^vPX*"
HATCHES = ("", "//", "..", "xx", "\\\\", "++")
DASHES = ("-", "--", "-.", ":")
HEAT = "Blues"  # light to dark: a darker shade is more, also in grey
FORMATS = (".png", ".svg", ".pdf")
PANEL, OF_TWO, ALONE = (3.4, 2.8), (4.0, 3.0), (6.4, 3.6)  # inches
WIDEST_BAR = 0.3  # of the distance between two groups
FEW_POINTS = 12  # of a line; longer lines have a marker at every few points


@dataclass(frozen=True)
class Line:
    """The points of one series.

    Attributes:
        x, y: of the points; NaN leaves a gap
        spread: lowest and highest value at each point, such as those of several seeds
        like: label of another line, whose colour, marker and dashes this line has
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
        x, y: names of the axes, with units; with `across`, y is the name of the groups' axis
        lines: label → points
        bars: label → one height for each group
        groups: names of the groups of bars
        title: above the panel
        integers: the horizontal axis counts
        across: bars lie, so that long names of groups stand beside them
        finish: is called with the panel, to add what this chart alone has
    """

    x: str
    y: str
    lines: Mapping[str, Line] = field(default_factory=dict)
    bars: Mapping[str, Sequence[float]] = field(default_factory=dict)
    groups: Sequence[str] = ()
    title: str = ""
    integers: bool = False
    across: bool = False
    finish: Callable[[Any], None] | None = None


def new_figure() -> Any:
    """Returns an empty figure, without a window and without state of pyplot."""
    from matplotlib.figure import Figure

    return Figure(figsize=ALONE, layout="constrained")


def draw_charts(
    figure: Any,
    charts: Sequence[Chart],
    *,
    columns: int = 3,
    size: tuple[float, float] | None = None,
) -> None:
    """Draws a panel for each chart, and sizes the figure. A series has the same look in all panels.

    Args:
        figure: an empty matplotlib figure
        charts: row by row
        columns: panels in a row, at most
        size: inches of a panel; None for the usual ones
    """
    from matplotlib.ticker import MaxNLocator

    columns = max(1, min(columns, len(charts)))
    rows = -(-len(charts) // columns)
    width, height = size or {1: ALONE, 2: OF_TWO}.get(len(charts), PANEL)
    for chart in charts:
        if chart.across:  # a bar needs about an eighth of an inch
            height = max(height, 0.9 + 0.13 * len(chart.groups) * len(chart.bars))
    figure.set_size_inches(width * columns, height * rows)
    line_numbers: dict[str, int] = {}  # which decide how a series looks
    bar_numbers: dict[str, int] = {}
    for place, chart in enumerate(charts, start=1):
        axes = figure.add_subplot(rows, columns, place)
        for label, line in chart.lines.items():
            number = line_numbers.setdefault(line.like or label, len(line_numbers))
            _draw_line(axes, label, line, number)
        if chart.bars:
            numbers = [bar_numbers.setdefault(label, len(bar_numbers)) for label in chart.bars]
            _draw_bars(axes, chart, numbers)
        axes.set_title(chart.title, fontsize=9)
        axes.set_xlabel(chart.x)
        axes.set_ylabel(chart.y)
        axes.grid(axis="y", alpha=0.3)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if chart.integers:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        if chart.finish:
            chart.finish(axes)
    _add_legend(figure)


def _draw_line(axes: Any, label: str, line: Line, number: int) -> None:
    look = {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": DASHES[number % len(DASHES)],
        "markersize": 5,
        "markevery": -(-len(line.x) // FEW_POINTS) or None,
        **line.more,
    }
    axes.plot(line.x, line.y, label=label, **look)
    if line.spread:
        axes.vlines(line.x, *line.spread, color=look["color"], linewidth=1)


def _draw_bars(axes: Any, chart: Chart, numbers: Sequence[int]) -> None:
    groups = range(len(chart.groups))
    width = min(WIDEST_BAR, 0.8 / len(chart.bars))
    draw = axes.barh if chart.across else axes.bar
    for place, (label, heights) in enumerate(chart.bars.items()):
        shift = width * (place + 0.5 - len(chart.bars) / 2)
        draw(
            [group + shift for group in groups],
            heights,
            width,
            label=label or None,
            color=COLOURS[numbers[place] % len(COLOURS)],
            hatch=HATCHES[numbers[place] % len(HATCHES)],
            edgecolor="white",
        )
    room = 1.0 if len(groups) < 3 else 0.6  # a bar alone does not fill its panel
    if chart.across:
        axes.set_yticks(groups, chart.groups, fontsize=8)
        axes.set_ylim(len(groups) - 1 + room, -room)  # the first group on top
    else:
        axes.set_xticks(groups, chart.groups)
        axes.set_xlim(-room, len(groups) - 1 + room)


def _add_legend(figure: Any) -> None:
    """Adds one legend below the panels, with every label once; the figure grows by its lines."""
    shown: dict[str, Any] = {}
    for each in figure.axes:
        for handle, label in zip(*each.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, handle)
    if not shown:
        return
    width, height = figure.get_size_inches()
    longest = max(map(len, shown))
    columns = min(max(1, int(width * 12 / (longest + 6))), len(shown), 4)  # 12 letters an inch
    figure.set_size_inches(width, height + 0.2 * -(-len(shown) // columns))
    figure.legend(
        shown.values(), shown.keys(), loc="outside lower center", fontsize=8, frameon=False,
        ncols=columns,
    )  # fmt: skip


def save(figure: Any, path: Path) -> list[Path]:
    """Writes a figure, and returns its files; a name without ending becomes a PNG and an SVG."""
    paths = [path] if path.suffix else [path.with_name(path.name + end) for end in FORMATS[:2]]
    _choose_fonts(figure)
    for target in paths:
        with replacing(target) as temporary:
            write_figure(figure, temporary, target.suffix[1:].lower())
    return paths


def _choose_fonts(figure: Any) -> None:
    """Gives texts further fonts where matplotlib's own has no such letters, as of Chinese.

    Prints a sentence when no font of the system has them.
    """
    from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
    from matplotlib.text import Text

    texts = figure.findobj(Text)
    letters = {ord(letter) for text in texts for letter in text.get_text() if letter.isprintable()}
    missing = letters - get_font(findfont(FontProperties())).get_charmap().keys()
    families = ["DejaVu Sans"]
    for font in sorted(fontManager.ttflist, key=lambda font: "Noto Sans" not in font.name):
        if missing and missing & get_font(font.fname).get_charmap().keys():
            missing -= get_font(font.fname).get_charmap().keys()
            families.append(font.name)
    for text in texts:
        text.set_fontfamily(families)
    if missing:
        shown = "".join(map(chr, sorted(missing)[:5]))
        print(
            f"warning: no font of this system has {len(missing)} letters of the figure ({shown}); "
            "install fonts-noto-cjk (Chinese, Japanese, Korean) or fonts-noto-core",
            file=sys.stderr,
        )


def write_figure(figure: Any, target: Any, form: str) -> None:
    """Writes a figure; equal numbers give equal files, without a date and random names."""
    import matplotlib

    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(form)
    with matplotlib.rc_context({"svg.hashsalt": "dc_nmt_plugin"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # see _choose_fonts
        figure.savefig(target, format=form, dpi=150, metadata=metadata)
