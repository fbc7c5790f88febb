"""Draws claims: the difference each one expects, and the one seen here, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..figure import COLOURS, add_legend, finish_rows, new_figure
from .claims import Decided, published_gap, verdict

# colour and marker of a comparison, by what it says about its claim
_LOOKS = {"for": (COLOURS[0], "o"), "against": (COLOURS[1], "v"), "undecided": ("#888888", "s")}
_TICKS = (-30, -10, -3, -1, 0, 1, 3, 10, 30)  # BLEU, where a masked layer costs this much


def drawable(found: Iterable[Decided]) -> list[Decided]:
    """Returns the claims about BLEU that a comparison has measured."""
    return [one for one in found if one.claim.by == "score" and any(one.seen)]


def draw_claims(found: Sequence[Decided]) -> Any:
    """Returns a figure with a panel for each document and a row for each claim.

    Differences are turned so that those on the right of zero agree with the claim. Of claims that
    two systems are equal, the right is where the first one is better.

    Args:
        found: of :func:`drawable`
    """
    documents = list(dict.fromkeys(one.claim.document for one in found))
    rows = [[one for one in found if one.claim.document == name] for name in documents]
    counts = list(map(len, rows))
    figure = new_figure((8.5, 0.25 * sum(counts) + 0.35 * len(counts) + 0.6))
    panels = figure.subplots(len(documents), 1, sharex=True, squeeze=False, height_ratios=counts)
    for axes, name, claims in zip(panels[:, 0], documents, rows, strict=True):
        axes.set_title(name, loc="left", fontsize=9, fontweight="bold")
        finish_rows(axes, 0)
        for place, one in enumerate(claims):
            _draw_row(axes, place, one)
        axes.set_yticks(range(len(claims)), [one.claim.name for one in claims], fontsize=8)
        axes.set_ylim(len(claims) - 0.4, -0.6)
    last = panels[-1, 0]
    name = "difference in BLEU; a claimed difference is right of zero"
    low, high = last.get_xlim()
    if max(-low, high) > 10:
        last.set_xscale("symlog", linthresh=1)
        last.set_xticks(_TICKS, [f"{tick:+d}" if tick else "0" for tick in _TICKS])
        last.set_xlim(low, high)
        name += "; logarithmic beyond 1"
    last.set_xlabel(name, fontsize=9)
    add_legend(figure, *panels[:, 0])
    return figure


def _draw_row(axes: Any, place: int, one: Decided) -> None:
    sign = -1 if one.claim.expects == "less" else 1
    seen = [each for each in one.seen if each and each.interval]
    for number, each in enumerate(seen):
        height = place + 0.6 * ((number + 0.5) / len(seen) - 0.5)
        word = verdict(one.claim, each)
        colour, marker = _LOOKS[word]
        assert each.interval is not None
        axes.plot([sign * end for end in each.interval], [height] * 2, color=colour, alpha=0.5)
        axes.plot(
            sign * each.value, height, color=colour, marker=marker, markersize=5, linestyle="",
            label=f"here, 95% interval: {word}",
        )  # fmt: skip
    for pair in one.claim.evidence:
        gap = published_gap(pair)
        if gap is None or (pair[1] is None and one.claim.expects == "same"):
            continue
        # a cell that is a difference has the sign of its own table
        value = abs(gap) if pair[1] is None else sign * gap
        axes.plot(
            value, place, color="black", marker="D", markersize=5, markerfacecolor="none",
            linestyle="", label="published",
        )  # fmt: skip
