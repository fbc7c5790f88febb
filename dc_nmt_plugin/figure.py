"""Style of the figures (PNG and SVG): readable in print and by colour-blind readers.

One place decides colours, markers, hatching, and where the legend is: below the panels, so that it
hides nothing. :mod:`.charts` spreads series over panels. On dark pages, style sheets turn the
figures with :data:`DARK`: white becomes the ground, and colours keep their hue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from itertools import cycle
from pathlib import Path
from typing import Any

from .files import replacing

# M. Okabe, K. Ito, "Color Universal Design", 2008; the yellow is too light for lines on paper
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = "osD^vPX*"  # one more than colours: no two of 56 lines have both
DASHES = ("-", "--", "-.", ":")
HATCHES = ("", "//", "..", "xx", "\\\\", "++")  # one less than colours, for the same reason
HEAT = "Blues"  # light to dark: a darker shade is more, also in grey
SIZE = (6.4, 4.0)  # inches, unless a drawing gives its figure another
FORMATS = (".png", ".svg", ".pdf")
WIDEST_BAR = 0.3  # of the distance between two groups
DARK = "filter: invert(1) hue-rotate(180deg); mix-blend-mode: screen;"


def styles() -> Iterator[dict[str, Any]]:
    """Yields colour, marker and dashes for each line; each alone distinguishes the lines."""
    for number, (colour, marker) in enumerate(zip(cycle(COLOURS), cycle(MARKERS))):
        yield {
            "color": colour,
            "marker": marker,
            "linestyle": DASHES[number % len(DASHES)],
            "markersize": 5,
        }


def fills() -> Iterator[dict[str, Any]]:
    """Yields colour and hatching for each group of bars."""
    for colour, hatch in zip(cycle(COLOURS), cycle(HATCHES)):
        yield {"color": colour, "hatch": hatch, "edgecolor": "white"}


def new_figure(size: tuple[float, float] = SIZE) -> Any:
    """Returns an empty figure, without a window and without state of pyplot."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def add_legend(figure: Any, *axes: Any) -> None:
    """Adds one legend below the panels, with every label of the given axes once.

    The figure grows by the legend's lines.
    """
    shown: dict[str, Any] = {}
    for each in axes:
        for handle, label in zip(*each.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, handle)
    if not shown:
        return
    longest = max(map(len, shown))
    width, height = figure.get_size_inches()
    columns = min(max(1, int(width * 12 / (longest + 6))), len(shown), 4)  # 12 letters an inch
    figure.set_size_inches(width, height + 0.2 * -(-len(shown) // columns))
    figure.legend(
        shown.values(), shown.keys(), loc="outside lower center", fontsize=8, frameon=False,
        ncols=columns,
    )  # fmt: skip


def finish_axes(axes: Any, x: str, y: str, *, integers: bool = False) -> None:
    """Sets axis names (with units), a light grid, and whole numbers for counts."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if integers:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def finish_rows(axes: Any, centre: float) -> None:
    """Finishes a panel with a name on each row: a light grid, and a line for no difference.

    Args:
        axes: the panel
        centre: where this line is
    """
    axes.axvline(centre, color="#999999", linewidth=1, zorder=0)
    axes.grid(axis="x", alpha=0.3)
    axes.tick_params(left=False)
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)


def heat_map(
    figure: Any,
    axes: Any,
    values: Any,
    *,
    x: str,
    y: str,
    colour: str,
    numbers: str | None = None,
) -> None:
    """Draws a matrix as shades.

    Args:
        figure, axes: where
        values: (rows, columns) numbers, the first row on top
        x, y: names of the axes
        colour: name of what the shades mean, with its unit
        numbers: format of the number in each cell, or None for none
    """
    image = axes.imshow(values, cmap=HEAT, aspect="auto")
    figure.colorbar(image, ax=axes, label=colour)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if numbers is None:
        return
    middle = sum(image.get_clim()) / 2
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            shade = "white" if value > middle else "black"
            text = format(value, numbers)
            axes.text(column, row, text, ha="center", va="center", color=shade, fontsize=8)


def grouped_bars(
    axes: Any,
    groups: Sequence[str],
    bars: Mapping[str, Sequence[float]],
    looks: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    across: bool = False,
) -> None:
    """Draws grouped bars.

    Args:
        axes: where
        groups: names along the horizontal axis; with `across`, along the vertical one
        bars: label → one height a group
        looks: label → colour and hatching; None for those of :func:`fills` in their order
        across: bars lie, so that long names of groups stand beside them
    """
    looks = looks or dict(zip(bars, fills()))  # noqa: B905
    width = min(WIDEST_BAR, 0.8 / max(1, len(bars)))
    start = -width * len(bars) / 2
    for number, (label, heights) in enumerate(bars.items()):
        places = [i + start + width * (number + 0.5) for i in range(len(groups))]
        draw = axes.barh if across else axes.bar
        draw(places, heights, width, label=label or None, **looks[label])
    if across:
        axes.set_yticks(range(len(groups)), groups)
        room = 1.0 if len(groups) < 3 else 0.6  # a bar alone does not fill its panel
        axes.set_ylim(len(groups) - 1 + room, -room)  # the first group on top
        return
    axes.set_xticks(range(len(groups)), groups)
    if len(groups) < 3:
        axes.set_xlim(-0.75, len(groups) - 0.25)


def save(figure: Any, path: Path) -> list[Path]:
    """Writes a figure; a name without a known ending becomes a PNG and an SVG.

    Returns:
        the files
    """
    paths = [path] if path.suffix else [path.with_name(path.name + end) for end in FORMATS[:2]]
    for target in paths:
        _write(figure, target)
    return paths


def _write(figure: Any, path: Path) -> None:
    """Writes a figure in the format of the name's ending; see :func:`.files.replacing`.

    Equal numbers give equal files, without a date and without random names in an SVG.
    """
    with replacing(path) as temporary:
        _draw(figure, temporary, path.suffix[1:].lower())


def as_svg(figure: Any) -> str:
    """Returns a figure as SVG; equal numbers give equal text."""
    written = BytesIO()
    _draw(figure, written, "svg")
    return written.getvalue().decode("utf-8")


def _draw(figure: Any, target: Any, form: str) -> None:
    import matplotlib

    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(form)
    with matplotlib.rc_context({"svg.hashsalt": "dc_nmt_plugin"}):
        figure.savefig(target, format=form, dpi=150, metadata=metadata)
