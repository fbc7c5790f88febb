"""Probing accuracies of a model, as the papers' tables, and as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from ..figure import Chart, draw_charts
from ..report import Table
from .classifier import Chosen, Setting, accuracy_interval, probe
from .encoding import ENCODERS, SentenceEncoder
from .tasks import GROUPS, SPLITS, ProbingTask


@dataclass(frozen=True)
class TaskAccuracies:
    """Accuracies of one task: of the most frequent class, %, and of :data:`.encoding.ENCODERS`."""

    majority: float
    trained: Chosen
    random: Chosen
    bag: Chosen
    sentences: int  # of the test

    def test(self, encoder: str) -> float:
        """Returns the accuracy, %, on the test sentences."""
        chosen: Chosen = getattr(self, encoder)
        return chosen.test


@dataclass(frozen=True)
class Probing:
    """Accuracies of one model."""

    layer: int  # of the encoder
    unknown: float  # pieces of all sentences, %
    tasks: dict[str, TaskAccuracies]  # name → accuracies


def probe_encoder(
    encoder: SentenceEncoder, tasks: Sequence[ProbingTask], setting: Setting
) -> Probing:
    """Trains and tests the classifiers of all tasks."""
    sentences = [sentence for task in tasks for sentence in task.sentences]
    unknown = encoder.unknown(sentences)
    accuracies = {task.name: accuracies_of(task, encoder, setting) for task in tasks}
    return Probing(encoder.layer, unknown, accuracies)


def accuracies_of(task: ProbingTask, encoder: SentenceEncoder, setting: Setting) -> TaskAccuracies:
    """Returns the accuracies of the three encoders and of the most frequent class."""
    labels = torch.tensor(task.labels, device=encoder.device)
    chosen = {}
    for name in ENCODERS:
        vectors = encoder.encode(task.sentences, name).to(encoder.device)
        data = {}
        for split in SPLITS:
            rows = torch.tensor(task.rows(split), device=encoder.device)
            data[split] = (vectors[rows], labels[rows])
        chosen[name] = probe(data, len(task.classes), setting)
    return TaskAccuracies(task.majority, **chosen, sentences=len(task.rows("te")))


def probing_table(results: Mapping[str, Probing], title: str) -> Table:
    """Returns the table: tasks by group with averages; runs, controls, most frequent class."""
    header = ["", "task", "sentences", "majority"]
    for label in results:
        header += [label, "random", "bag"]
    table = Table(title, header)
    tasks = next(iter(results.values())).tasks
    for group, names in GROUPS.items():
        lines = {name: _line(results, name) for name in names if _has(results, name)}
        for name, line in lines.items():
            cells = [f"{value:.2f}" for value in line]
            table.rows.append([group, name, f"{tasks[name].sentences:,}", *cells])
            group = ""  # stands in its first row alone
        # an average over fewer tasks than the papers' would be another number
        if len(lines) == len(names):
            means = [sum(column) / len(names) for column in zip(*lines.values(), strict=True)]
            table.rows.append(["", "#Avg", "", *(f"{mean:.2f}" for mean in means)])
    for sentences in sorted({task.sentences for task in tasks.values()}):
        low, high = accuracy_interval(50.0, sentences)
        table.notes.append(
            f"an accuracy of 50% on {sentences:,} test sentences has the 95% interval {low:.1f} to "
            f"{high:.1f}, of the choice of sentences alone"
        )
    return table


def draw(figure: Any, results: Mapping[str, Probing]) -> None:
    """Draws a panel for each task: bars by run, of its encoder and the controls."""
    charts = []
    for name in (name for names in GROUPS.values() for name in names if _has(results, name)):
        accuracies = [result.tasks[name] for result in results.values()]
        bars = {}
        for encoder, about in ENCODERS.items():
            bars[about] = [accuracy.test(encoder) for accuracy in accuracies]
        mark = partial(_mark, accuracies[0].majority)
        groups = [*results]
        charts.append(
            Chart("run", "accuracy, %", bars=bars, groups=groups, title=name, finish=mark)
        )
    draw_charts(figure, charts)


def _mark(most_frequent: float, axes: Any) -> None:
    axes.axhline(most_frequent, color="black", linestyle="--", label="most frequent class")


def _has(results: Mapping[str, Probing], name: str) -> bool:
    return name in next(iter(results.values())).tasks


def _line(results: Mapping[str, Probing], name: str) -> list[float]:
    """Returns the numbers of a task's row."""
    line = [next(iter(results.values())).tasks[name].majority]
    for result in results.values():
        line += [result.tasks[name].test(encoder) for encoder in ENCODERS]
    return line
