"""Draws docs/axes.svg: a Transformer and the four axes on which models differ.

usage: python scripts/draw_axes.py [FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from drawing import BLUE, GREEN, INK, ORANGE, PINK, PLAIN, arrow, empty, save
from drawing import box as any_box

A, B, C, D = BLUE, ORANGE, GREEN, PINK
MIDDLE = 4.9  # where the second of the three columns begins
LAYERS, WIDTH = 3, 2.8


def box(axes: Any, x: float, y: float, width: float, text: str, colour: str, fill: str) -> None:
    """A sublayer, its lower left corner at (x, y)."""
    any_box(axes, (x + width / 2, y + 0.21), (width, 0.42), text, colour, fill)


def stack(axes: Any, x: float, sublayers: list[tuple[str, str]], title: str, colour: str) -> None:
    """Layers of sublayers from below, on top of embeddings."""
    height = 0.5 * len(sublayers)
    box(axes, x, -0.62, WIDTH, "words, positions", D, "white")
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
    figure, axes = empty((10.4, 5.4))
    encoder = [("self-attention", A), ("feed-forward", D)]
    decoder = [("self-attention", A), ("attention to the source", B), ("feed-forward", D)]
    auxiliary = [("self-attention", A), ("attention to the source", INK), ("feed-forward", D)]
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
            "dashed: fusion",
        ),
    )
    about = "norm and its place, feed-forward network, positions: of 2017, or modern"
    axes.text(0.0, -2.55, "D  base block", fontsize=10, color=D, weight="bold", va="top")
    axes.text(2.6, -2.57, about, fontsize=8.5, color=INK, va="top")
    for x, colour, title, *lines in texts:
        axes.text(x, -1.35, title, fontsize=10, color=colour, weight="bold", va="top")
        axes.text(x, -1.72, "\n".join(lines), fontsize=8.5, color=INK, va="top")
    axes.set_xlim(-0.2, 13.4)
    axes.set_ylim(-2.9, 5.6)
    save(figure, path)


if __name__ == "__main__":
    draw(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/axes.svg"))
