"""What the scripts that draw the documentation's figures share: boxes and arrows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

# Okabe and Ito's colours, distinguishable for colour-blind readers too
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#B0518C"
PLAIN, INK = "#F2F2F2", "#333333"

Point = tuple[float, float]


def empty(size: Point) -> tuple[Any, Any]:
    """A figure of this size in inches, and its axes, which are not shown."""
    # the same file from the same code; text stays text
    plt.rcParams.update(
        {"svg.hashsalt": "axes", "svg.fonttype": "none", "font.family": "sans-serif"}
    )
    figure, axes = plt.subplots(figsize=size)
    axes.set_aspect("equal")
    axes.axis("off")
    return figure, axes


def box(
    axes: Any, centre: Point, size: Point, text: str, colour: str = INK, fill: str = PLAIN
) -> None:
    """A box with text in its middle."""
    style = "round,pad=0,rounding_size=0.08"
    corner = centre[0] - size[0] / 2, centre[1] - size[1] / 2
    axes.add_patch(
        FancyBboxPatch(corner, *size, boxstyle=style, edgecolor=colour, facecolor=fill, lw=1.4)
    )
    axes.text(*centre, text, ha="center", va="center", fontsize=7.5, color=colour)


def arrow(
    axes: Any, start: Point, end: Point, colour: str = INK, style: str = "-", bend: float = 0
) -> None:
    """From one point to another."""
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=9, color=colour, lw=1.3,
            linestyle=style, connectionstyle=f"arc3,rad={bend}", shrinkA=0, shrinkB=0,
        )
    )  # fmt: skip


def label(axes: Any, place: Point, text: str, colour: str = INK, **options: Any) -> None:
    """Text without a box."""
    axes.text(*place, text, color=colour, **{"fontsize": 8.5, "ha": "center", **options})


def save(figure: Any, path: Path) -> None:
    """Write the figure, without its date and with the same names of its parts each time."""
    metadata = {"Date": None} if path.suffix == ".svg" else None
    with plt.rc_context({"svg.hashsalt": "dc_nmt_plugin"}):
        figure.savefig(path, bbox_inches="tight", metadata=metadata)
    plt.close(figure)
