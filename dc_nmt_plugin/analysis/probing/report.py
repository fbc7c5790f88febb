"""Formats probing accuracies as the papers' tables, and as a figure."""

from __future__ import annotations

from typing import Any

from ...figure import finish_axes, grouped_bars
from ..base import Table
from .encoding import ENCODERS
from .tasks import GROUPS

Accuracies = dict[str, dict[str, Any]]
"""label of a run → {"tasks": {task: {encoder: …, "majority": %}}}."""


def table(results: Accuracies, title: str) -> Table:
    """Returns the table: tasks by group with averages; runs, controls, most frequent class."""
    header = ["", "task", "majority"]
    for label in results:
        header += [label, "random", "bag"]
    rows = []
    for group, names in GROUPS.items():
        lines = {name: _line(results, name) for name in names}
        there = {name: line for name, line in lines.items() if line}
        for place, (name, line) in enumerate(there.items()):
            cells = [f"{value:.2f}" for value in line]
            rows.append(["" if place else group, name, *cells])
        # an average over fewer tasks than the papers' would be another number
        if len(there) == len(names):
            means = [sum(column) / len(names) for column in zip(*there.values(), strict=True)]
            rows.append(["", "#Avg", *(f"{mean:.2f}" for mean in means)])
    return Table(title, header, rows)


def draw(figure: Any, results: Accuracies) -> None:
    """Draws bars by task: each run, its controls, the most frequent class."""
    axes = figure.add_subplot()
    names = [n for group in GROUPS.values() for n in group if _line(results, n)]
    bars = {}
    for label, found in results.items():
        for encoder in ENCODERS:
            key = label if encoder == "trained" else f"{label}, {encoder}"
            bars[key] = [found["tasks"][name][encoder]["test"] for name in names]
    grouped_bars(axes, names, bars)
    majority = [next(iter(results.values()))["tasks"][name]["majority"] for name in names]
    for place, value in enumerate(majority):
        name = "most frequent class" if place == 0 else None
        axes.hlines(value, place - 0.45, place + 0.45, color="black", linestyle="--", label=name)
    finish_axes(axes, "probing task", "accuracy, %")
    axes.set_ylim(0, 100)
    axes.legend(fontsize=8, ncols=2)


def _line(results: Accuracies, name: str) -> list[float]:
    """Returns the numbers of a task's row; empty for a task that was not run."""
    first = next(iter(results.values()))["tasks"]
    if name not in first:
        return []
    line = [first[name]["majority"]]
    for found in results.values():
        line += [found["tasks"][name][encoder]["test"] for encoder in ENCODERS]
    return line
