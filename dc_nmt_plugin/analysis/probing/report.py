"""Probing accuracies of a task, as the papers' tables, and as a figure."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

import torch

from ..figure import Chart, draw_charts
from ..report import Results, Table
from .classifier import Setting, probe
from .encoding import ENCODERS, SentenceEncoder
from .tasks import GROUPS, SPLITS, ProbingTask


def accuracies(task: ProbingTask, encoder: SentenceEncoder, setting: Setting) -> dict[str, Any]:
    """Returns the accuracies of the three encoders and of the most frequent class, in %."""
    labels = torch.tensor(task.labels, device=encoder.device)
    accuracy_of: dict[str, Any] = {"majority": task.majority}
    for name in ENCODERS:
        vectors = encoder.encode(task.sentences, name).to(encoder.device)
        data = {}
        for split in SPLITS:
            places = torch.tensor(task.places(split), device=encoder.device)
            data[split] = (vectors[places], labels[places])
        accuracy_of[name] = asdict(probe(data, len(task.classes), setting))
    return accuracy_of


def table(results: Results, title: str) -> Table:
    """Returns the table: tasks by group with averages; runs, controls, most frequent class.

    Args:
        results: label of a run → {"tasks": {task: {encoder: …, "majority": %}}}
        title: of the table
    """
    header = ["", "task", "majority"]
    for label in results:
        header += [label, "random", "bag"]
    scores = Table(title, header)
    for group, names in GROUPS.items():
        lines = {name: _line(results, name) for name in names if _has(results, name)}
        for place, (name, line) in enumerate(lines.items()):
            scores.rows.append(["" if place else group, name, *(f"{value:.2f}" for value in line)])
        # an average over fewer tasks than the papers' would be another number
        if len(lines) == len(names):
            means = [sum(column) / len(names) for column in zip(*lines.values(), strict=True)]
            scores.rows.append(["", "#Avg", *(f"{mean:.2f}" for mean in means)])
    return scores


def draw(figure: Any, results: Results) -> None:
    """Draws a panel for each task: bars by run, of its encoder and the controls."""
    charts = []
    for name in (name for names in GROUPS.values() for name in names if _has(results, name)):
        bars = {}
        for encoder, about in ENCODERS.items():
            bars[about] = [result["tasks"][name][encoder]["test"] for result in results.values()]
        most_frequent = next(iter(results.values()))["tasks"][name]["majority"]
        charts.append(
            Chart("run", "accuracy, %", bars=bars, groups=[*results], title=name,
                  finish=partial(_mark, most_frequent))
        )  # fmt: skip
    draw_charts(figure, charts)


def _mark(most_frequent: float, axes: Any) -> None:
    axes.axhline(most_frequent, color="black", linestyle="--", label="most frequent class")


def _has(results: Results, name: str) -> bool:
    return name in next(iter(results.values()))["tasks"]


def _line(results: Results, name: str) -> list[float]:
    """Returns the numbers of a task's row."""
    line = [next(iter(results.values()))["tasks"][name]["majority"]]
    for result in results.values():
        line += [result["tasks"][name][encoder]["test"] for encoder in ENCODERS]
    return line
