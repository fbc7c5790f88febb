"""Draws docs/figures/*-mechanism.svg: what each paper adds to the usual model, in colour.

usage: python scripts/draw_mechanisms.py [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from drawing import BLUE, GREEN, INK, ORANGE, PLAIN, Point, arrow, box, empty, label, save
from matplotlib.patches import Rectangle

HEIGHT = 0.46
INCHES = 0.92  # a unit


class Sketch:
    """Boxes that know where they are; arrows go from the top of one to the bottom of another."""

    def __init__(self) -> None:
        self.figure, self.axes = empty((1, 1))
        self.places: dict[str, tuple[float, float, float]] = {}

    def box(self, x: float, y: float, text: str, colour: str = INK, width: float = 2.6) -> str:
        """A box around (x, y); its name is its text."""
        fill = PLAIN if colour == INK else "white"
        box(self.axes, (x, y), (width, HEIGHT), text, colour, fill)
        self.places[text] = (x, y, width)
        return text

    def top(self, name: str, shift: float = 0) -> Point:
        """Middle of the upper edge."""
        x, y, _ = self.places[name]
        return x + shift, y + HEIGHT / 2

    def bottom(self, name: str, shift: float = 0) -> Point:
        """Middle of the lower edge."""
        x, y, _ = self.places[name]
        return x + shift, y - HEIGHT / 2

    def side(self, name: str, sign: int) -> Point:
        """Middle of the right edge (1) or the left one (-1)."""
        x, y, width = self.places[name]
        return x + sign * width / 2, y

    def up(self, start: str, end: str, colour: str = INK, shift: float = 0, **options: Any) -> None:
        """An arrow from a box to one above it; `shift` is where it enters."""
        arrow(self.axes, self.top(start), self.bottom(end, shift), colour, **options)

    def between(self, start: Point, end: Point, colour: str = INK, **options: Any) -> None:
        """An arrow between any two points."""
        arrow(self.axes, start, end, colour, **options)

    def text(self, x: float, y: float, text: str, colour: str = INK, **options: Any) -> None:
        """Text beside the boxes."""
        label(self.axes, (x, y), text, colour, **options)

    def finish(self, width: Point, height: Point) -> Any:
        """The figure, cut to these limits; text and boxes keep their proportion."""
        self.axes.set_xlim(*width)
        self.axes.set_ylim(*height)
        self.figure.set_size_inches(
            INCHES * (width[1] - width[0]), INCHES * (height[1] - height[0])
        )
        return self.figure


def dual_context() -> Any:
    """The dual contextual module."""
    s = Sketch()
    r = s.box(3.2, 0, "layer input r")
    conv = s.box(1.0, 1.1, "convolution of width f, GLU", BLUE)
    norm = s.box(1.0, 2.0, "LayerNorm(· + r) = local context", BLUE, 2.9)
    local = s.box(1.0, 3.1, "attention from r to the local context", BLUE, 3.2)
    same = s.box(4.7, 3.1, "attention from r to r", INK, 2.2)
    joint = s.box(3.2, 4.2, "[local; global] W + b", BLUE)
    out = s.box(3.2, 5.1, "LayerNorm(· + r)")
    s.up(r, conv, BLUE)
    s.up(conv, norm, BLUE)
    s.up(norm, local, BLUE)
    s.between(s.top(r, 0.3), s.bottom(same), INK)
    s.between(s.top(r, 0.1), s.bottom(local, 1.55), INK)
    s.text(3.1, 1.9, "queries", fontsize=7, ha="left")
    s.up(local, joint, BLUE, -0.5)
    s.up(same, joint, shift=0.5)
    s.up(joint, out)
    s.between(s.side(r, 1), s.side(out, 1), INK, style="--", bend=0.95)
    s.text(-0.95, 1.55, "local context", BLUE, rotation=90, va="center", weight="bold")
    s.text(-0.95, 3.6, "interaction", BLUE, rotation=90, va="center", weight="bold")
    return s.finish((-1.3, 7.9), (-0.4, 5.5))


def context_aware() -> Any:
    """Queries and keys with a gated context."""
    s = Sketch()
    names = ["input of layer 1", "input of layer 2", "input of layer l"]
    for level, name in enumerate(names):
        s.box(0, level * 1.0, name, INK, 2.0)
    for low, high in pairwise(names):
        s.up(low, high)
    s.text(0, -0.75, "encoder stack", weight="bold")
    context = s.box(3.6, 0.4, "context C", BLUE, 1.8)
    for name in names[:2]:
        s.between(s.side(name, 1), s.side(context, -1), BLUE)
    s.between(s.side(names[2], 1), (3.2, 0.63), BLUE, style="--")
    s.text(3.6, -0.2, "deep: the inputs of lower layers", BLUE, fontsize=7)
    s.text(3.6, -0.45, "global: their mean over the sentence", BLUE, fontsize=7)
    s.text(3.6, -0.7, "and this layer's own mean (dashed)", BLUE, fontsize=7)
    query = s.box(3.6, 2.0, "Q = H W", INK, 1.8)
    s.between(s.side(names[2], 1), s.side(query, -1))
    gate = s.box(6.4, 1.2, "gate λ = σ(Q V + C U V')", BLUE, 2.6)
    mixed = s.box(6.4, 2.5, "(1 - λ) Q + λ C U", BLUE, 2.6)
    s.between(s.side(query, 1), s.side(gate, -1), BLUE)
    s.between(s.side(context, 1), s.side(gate, -1), BLUE)
    s.up(gate, mixed, BLUE)
    s.between(s.top(query), s.side(mixed, -1))
    attention = s.box(6.4, 3.5, "attention; values untouched", INK, 2.6)
    s.up(mixed, attention)
    s.text(6.4, 0.75, "keys likewise, with their own U, V, V'", fontsize=7)
    return s.finish((-1.2, 7.9), (-0.95, 3.9))


def cross_aggregation() -> Any:
    """Rows of logits as votes, over heads and over positions."""
    s = Sketch()
    size, rows, shown = 0.3, 5, 3
    for head in range(3):
        left = head * 2.1
        for row in range(rows):
            y = (rows - 1 - row) * size + 1.2
            horizontal = head == 2 and row <= shown
            vertical = row == shown
            for column in range(rows):
                fill = "#FBE3D0" if horizontal and not vertical else "white"
                fill = "#CFE4F2" if vertical and head != 2 else fill
                fill = "#D9D2C9" if vertical and head == 2 else fill
                s.axes.add_patch(
                    Rectangle(
                        (left + column * size, y), size, size, edgecolor=INK, facecolor=fill, lw=0.6
                    )
                )
        s.text(left + rows * size / 2, rows * size + 1.32, f"head {head + 1}")
    s.text(-0.15, 1.2 + size * 1.5, "query l", ha="right", va="center", fontsize=7.5)
    s.text(2.85, 0.55, "vertical: the rows of query l in all heads", BLUE)
    s.text(2.85, 0.2, "horizontal: the rows of queries t ≤ l in one head", ORANGE)
    routing = s.box(7.5, 2.0, "routing by agreement, T times", INK, 2.9)
    s.between((5.85, 1.65), s.side(routing, -1), BLUE)
    s.between((5.85, 2.4), s.side(routing, -1), ORANGE)
    joint = s.box(7.5, 3.1, "logits + Λ · vertical + horizontal", INK, 2.9)
    s.up(routing, joint)
    soft = s.box(7.5, 4.0, "softmax, values as usual", INK, 2.9)
    s.up(joint, soft)
    s.between((5.75, 2.6), s.side(joint, -1), INK)
    s.text(5.55, 2.95, "logits", fontsize=7.5, ha="center")
    return s.finish((-0.9, 9.1), (0, 4.4))


def multi_layer() -> Any:
    """Layer aggregation and multi-layer attention."""
    s = Sketch()
    upper = 4.0  # the stack of layer aggregation stands above the other
    for base, space in ((upper, ""), (0.0, " ")):  # two stacks of the same layers
        names = [
            s.box(0, base + layer, f"{space}encoder layer {layer + 1}", INK, 1.8)
            for layer in range(3)
        ]
        for low, high in pairwise(names):
            s.up(low, high)
    merged = s.box(3.1, upper + 1, "sum or network", ORANGE, 1.9)
    for layer in range(3):
        s.between((0.9, upper + layer), s.side(merged, -1), ORANGE)
        s.box(6.2, upper + layer, f"decoder layer {layer + 1}", INK, 1.8)
        s.between(s.side(merged, 1), (5.3, upper + layer))
    joint = s.box(6.2, 1, "weights: its own each, or joint", ORANGE, 2.8)
    for layer in range(3):
        own = s.box(2.8, layer, f"queries, keys, values {layer + 1}", ORANGE, 2.3)
        s.between((0.9, layer), s.side(own, -1), ORANGE)
        s.between(s.side(own, 1), s.side(joint, -1), ORANGE)
    s.text(6.2, 0.5, "contexts side by side, or summed", ORANGE, fontsize=7.5)
    s.text(6.2, 1.45, "in every decoder layer", fontsize=7.5)
    s.text(3.1, upper + 2.6, "layer aggregation", ORANGE, weight="bold", fontsize=10)
    s.text(3.1, 2.6, "multi-layer attention", ORANGE, weight="bold", fontsize=10)
    return s.finish((-1.1, 7.8), (-0.4, upper + 2.9))


def supervision() -> Any:
    """Auxiliary decoders and fusion."""
    s = Sketch()
    for layer in range(3):
        s.box(0, layer * 1.0, f"encoder layer {layer + 1}", INK, 1.8)
    s.between((0, HEIGHT / 2), (0, 1 - HEIGHT / 2))
    s.between((0, 1 + HEIGHT / 2), (0, 2 - HEIGHT / 2))
    auxiliary = s.box(3.4, 0, "auxiliary decoder", GREEN, 2.0)
    s.between((0.9, 0), s.side(auxiliary, -1), GREEN)
    steps = ["masked self-attention", "+ W f (fusion)", "attention to the source", "feed-forward"]
    for number, step in enumerate(steps):
        s.box(7.2, number * 0.75 + 0.7, step, GREEN if "fusion" in step else INK, 2.3)
    for low, high in pairwise(steps):
        s.up(low, high)
    s.text(7.2, 0.1, "a layer of the main decoder", weight="bold")
    s.between((0.9, 2.0), s.side(steps[2], -1))
    s.between(s.side(auxiliary, 1), s.side(steps[1], -1), GREEN, style="--", bend=-0.15)
    s.text(5.45, 0.42, "final states f", GREEN, fontsize=7.5)
    loss = s.box(3.4, 3.7, "J = main loss + γ auxiliary loss", GREEN, 3.0)
    s.between((7.2, 0.7 + 2.25 + HEIGHT / 2), s.side(loss, 1))
    s.up(auxiliary, loss, GREEN)
    return s.finish((-1.1, 8.6), (-0.5, 4.1))


def residual_decoder() -> Any:
    """The readout and the words that it sees."""
    s = Sketch()
    words = [s.box(number * 1.5, 0, f"y{number}", INK, 0.9) for number in range(4)]
    states = [s.box(number * 1.5, -1.1, f"s{number + 1}", INK, 0.9) for number in range(4)]
    for word, state in zip(words, states, strict=True):
        s.between(s.bottom(word), s.top(state))
    for early, late in pairwise(states):
        s.between(s.side(early, 1), s.side(late, -1))
    s.text(-0.75, 0, "words so far", ha="right", va="center")
    s.text(-0.75, -1.1, "GRU", ha="right", va="center")
    summary = s.box(2.25, 1.2, "d = Σ α y: weights over all words so far", BLUE, 3.6)
    for number, word in enumerate(words):
        s.up(word, summary, BLUE, number - 1.5)
    readout = s.box(6.2, 2.2, "readout tanh(W s + W d + W c)", INK, 2.8)
    s.between(s.top(summary), s.side(readout, -1), BLUE)
    source = s.box(7.9, -1.1, "source context c", INK, 1.9)
    s.up(source, readout, shift=1.0)
    s.between(s.side(states[3], 1), s.bottom(readout, 0.2))
    s.between(s.side(words[3], 1), s.bottom(readout, -0.8), style=":")
    s.text(6.55, 0.3, "dotted:\nbaseline, y3 alone", fontsize=7, va="center")
    return s.finish((-2.2, 9.0), (-1.5, 2.6))


FIGURES: dict[str, Callable[[], Any]] = {
    "dual-context": dual_context,
    "context-aware": context_aware,
    "cross-aggregation": cross_aggregation,
    "multi-layer": multi_layer,
    "supervision": supervision,
    "residual-decoder": residual_decoder,
}


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures")
    for name, draw in FIGURES.items():
        save(draw(), folder / f"{name}-mechanism.svg")
