"""Style of the figures (PNG and SVG): readable in print and by colour-blind readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import IO, Any

from .files import replacing

# M. Okabe, K. Ito, "Color Universal Design", 2008; the yellow is too light for lines on paper
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = "osD^vPX*"  # one more than colours: no two of 56 lines have both
DASHES = ("-", "--", "-.", ":")
HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo")
HEAT = "Blues"  # light to dark: a darker shade is more, also in grey
FORMATS = (".png", ".svg", ".pdf")


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


def new_figure(size: tuple[float, float]) -> Any:
    """Returns an empty figure, without a window and without state of pyplot."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


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


def grouped_bars(axes: Any, groups: Sequence[str], bars: Mapping[str, Sequence[float]]) -> None:
    """Draws grouped bars.

    Args:
        axes: where
        groups: names along the horizontal axis
        bars: label → one height a group
    """
    width = 0.8 / max(1, len(bars))
    for number, ((label, heights), fill) in enumerate(zip(bars.items(), fills())):  # noqa: B905
        places = [i - 0.4 + width * (number + 0.5) for i in range(len(groups))]
        axes.bar(places, heights, width, label=label, **fill)
    axes.set_xticks(range(len(groups)), groups)


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


def saved_as_svg(figure: Any, file: IO[bytes]) -> None:
    """Writes a figure as SVG into an open file; equal numbers give equal bytes."""
    _draw(figure, file, "svg")


def _draw(figure: Any, target: Any, form: str) -> None:
    import matplotlib

    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(form)
    with matplotlib.rc_context({"svg.hashsalt": "dc_nmt_plugin"}):
        figure.savefig(target, format=form, dpi=150, metadata=metadata)
