"""Draws docs/axes.svg: a Transformer and the three axes on which the papers' models differ.

usage: python scripts/draw_axes.py [FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

# Okabe and Ito's colours, told apart by colour-blind readers too
A, B, C = "#0072B2", "#D55E00", "#009E73"
PLAIN, INK = "#F2F2F2", "#333333"
MIDDLE = 4.9  # where the second of the three columns begins
LAYERS, WIDTH = 3, 2.5


def box(axes: Any, x: float, y: float, width: float, text: str, colour: str, fill: str) -> None:
    """A sublayer, its lower left corner at (x, y)."""
    style = "round,pad=0,rounding_size=0.08"
    axes.add_patch(
        FancyBboxPatch(
            (x, y), width, 0.42, boxstyle=style, edgecolor=colour, facecolor=fill, lw=1.4
        )
    )
    axes.text(x + width / 2, y + 0.21, text, ha="center", va="center", fontsize=7.5, color=colour)


def arrow(axes: Any, start: Any, end: Any, colour: str, style: str = "-", bend: float = 0) -> None:
    """From `start` to `end`, both (x, y)."""
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=9, color=colour, lw=1.3,
            linestyle=style, connectionstyle=f"arc3,rad={bend}", shrinkA=0, shrinkB=0,
        )
    )  # fmt: skip


def stack(axes: Any, x: float, sublayers: list[tuple[str, str]], title: str, colour: str) -> None:
    """Layers of sublayers from below, on top of embeddings."""
    height = 0.5 * len(sublayers)
    box(axes, x, -0.62, WIDTH, "embeddings", INK, PLAIN)
    for layer in range(LAYERS):
        for number, (text, edge) in enumerate(sublayers):
            fill = PLAIN if edge == INK else "white"
            box(axes, x, layer * (height + 0.22) + 0.5 * number, WIDTH, text, edge, fill)
    top = LAYERS * (height + 0.22)
    axes.text(
        x + WIDTH / 2, top + 0.12, title, ha="center", fontsize=10, color=colour, weight="bold"
    )


def draw(path: Path) -> None:
    """The figure."""
    # the same file from the same code
    plt.rcParams.update(
        {"svg.hashsalt": "axes", "svg.fonttype": "none", "font.family": "sans-serif"}
    )
    figure, axes = plt.subplots(figsize=(10.4, 5.4))
    encoder = [("self-attention", A), ("feed-forward", INK)]
    decoder = [("self-attention", A), ("attention to the source", B), ("feed-forward", INK)]
    auxiliary = [("self-attention", A), ("attention to the source", INK), ("feed-forward", INK)]
    stack(axes, 0.0, encoder, "encoder", INK)
    stack(axes, MIDDLE, decoder, "decoder", INK)
    stack(axes, 2 * MIDDLE, auxiliary, "auxiliary decoder", C)
    for layer in range(LAYERS):
        y = layer * 1.22 + 0.71
        for target in range(LAYERS):
            faint = "-" if layer == LAYERS - 1 else ":"
            arrow(axes, (WIDTH, y), (MIDDLE, target * 1.72 + 0.71), B, faint)
    arrow(axes, (WIDTH, 0.55), (9.65, -0.05), C, bend=0.32)
    for target in range(LAYERS):
        arrow(axes, (2 * MIDDLE, 2 * 1.72 + 1.21), (MIDDLE + WIDTH, target * 1.72 + 0.21), C, "--")
    texts = (
        (
            0.0,
            A,
            "A  self-attention kind",
            "standard, dual context,",
            "context-aware, cross aggregation",
        ),
        (
            MIDDLE,
            B,
            "B  source features",
            "top layer, four layer aggregations,",
            "four multi-layer attentions",
        ),
        (
            2 * MIDDLE,
            C,
            "C  auxiliary decoders",
            "on any lower encoder layers, a joint loss;",
            "dashed: fusion (AIF)",
        ),
    )
    for x, colour, title, *lines in texts:
        axes.text(x, -1.35, title, fontsize=10, color=colour, weight="bold", va="top")
        axes.text(x, -1.72, "\n".join(lines), fontsize=8.5, color=INK, va="top")
    axes.set_xlim(-0.2, 13.4)
    axes.set_ylim(-2.5, 5.6)
    axes.set_aspect("equal")
    axes.axis("off")
    figure.savefig(
        path, bbox_inches="tight", metadata={"Date": None} if path.suffix == ".svg" else None
    )
    plt.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/axes.svg"))
