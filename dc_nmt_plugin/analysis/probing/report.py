"""Formats probing accuracies as the papers' tables, and as a figure."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...charts import Chart, draw_charts
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
    """Draws a panel for each task: bars by run, of its encoder and the controls."""
    names = [n for group in GROUPS.values() for n in group if _line(results, n)]
    charts = []
    for name in names:
        bars = {
            about: [found["tasks"][name][encoder]["test"] for found in results.values()]
            for encoder, about in ENCODERS.items()
        }
        most_frequent = next(iter(results.values()))["tasks"][name]["majority"]
        charts.append(
            Chart("accuracy, %", "run", bars=bars, groups=[*results], title=name, across=True,
                  finish=partial(_mark, most_frequent))
        )  # fmt: skip
    draw_charts(figure, charts)


def _mark(most_frequent: float, axes: Any) -> None:
    axes.axvline(most_frequent, color="black", linestyle="--", label="most frequent class")


def _line(results: Accuracies, name: str) -> list[float]:
    """Returns the numbers of a task's row; empty for a task that was not run."""
    first = next(iter(results.values()))["tasks"]
    if name not in first:
        return []
    line = [first[name]["majority"]]
    for found in results.values():
        line += [found["tasks"][name][encoder]["test"] for encoder in ENCODERS]
    return line
