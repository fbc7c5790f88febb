"""``--plot``: figures (PNG, SVG, PDF) that stay readable in print and for colour-blind readers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ..errors import notify
from ..files import replacing

# M. Okabe, K. Ito, "Color Universal Design", 2008; the yellow is too light for lines on paper
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
ALONE = (6.4, 3.6)  # inches of a figure


def new_figure() -> Any:
    """Returns an empty figure, without a window and without state of pyplot."""
    from matplotlib.figure import Figure

    return Figure(figsize=ALONE, layout="constrained")


def write_plot(figure: Any, path: Path) -> None:
    """Writes the figure of ``--plot``, after what was printed, because writing may fail."""
    sys.stdout.flush()
    for file in save(figure, path):
        notify(f"written: {file}")


def save(figure: Any, path: Path) -> list[Path]:
    """Writes a figure, and returns its files; a name without ending becomes a PNG and an SVG."""
    endings = [""] if path.suffix else [".png", ".svg"]
    paths = [path.with_name(path.name + ending) for ending in endings]
    for target in paths:
        with replacing(target) as temporary:
            write_figure(figure, temporary, target.suffix[1:].lower())
    return paths


def _with_formulas(figure: Any) -> list[Any]:
    """Returns the texts that are none of users: names of axes, and powers on logarithmic ones."""
    texts = []
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        texts.append(axis.label)
        if axis.get_scale() == "log":
            texts += axis.get_ticklabels(which="both")
    return texts


def write_figure(figure: Any, target: Any, form: str) -> None:
    """Writes a figure; equal numbers give equal files, without a date and random names."""
    import matplotlib
    from matplotlib.font_manager import fontManager
    from matplotlib.text import Text

    # matplotlib's own font has no Chinese letters, for example
    more = sorted({font.name for font in fontManager.ttflist if "Noto Sans" in font.name})
    for text in figure.findobj(Text):
        text.set_fontfamily(["DejaVu Sans", *more, "sans-serif"])
        text.set_parse_math(False)  # names and words may have dollars
    for text in _with_formulas(figure):
        text.set_parse_math(True)
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(form)
    with matplotlib.rc_context({"svg.hashsalt": "dc_nmt_plugin"}):
        figure.savefig(target, format=form, dpi=150, metadata=metadata)
