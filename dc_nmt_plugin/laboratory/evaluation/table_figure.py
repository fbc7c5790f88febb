"""Draws tables of runs: each run as a dot, means, and the intervals of the differences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import printable
from ..plot import COLOURS, new_figure, write_plot
from .rows import ResultRow, ResultTable
from .table_text import score_name

INCHES = 0.36  # of a row
SEED, MEAN, INTERVAL, PUBLISHED = COLOURS[0], COLOURS[1], COLOURS[4], COLOURS[6]


def plot_results(table: ResultTable, path: Path) -> None:
    """Writes the figure of ``--plot``."""
    figure = new_figure()
    draw_results(figure, [table])
    write_plot(figure, path)


def draw_results(figure: Any, tables: Sequence[ResultTable]) -> None:
    """Draws a panel for each table; all have the same rows.

    The interval of the difference to the baseline is drawn around the score of the baseline: it
    includes zero where it crosses the grey line.
    """
    rows = tables[0].rows
    figure.set_size_inches(7.0 if len(tables) == 1 else 9.0, INCHES * len(rows) + 1.4)
    panels = figure.subplots(1, len(tables), sharey=True, squeeze=False)[0]
    shown: dict[str, Any] = {}  # label of the legend → its mark
    for axes, table in zip(panels, tables, strict=True):
        _draw_table(axes, table)
        handles, labels = axes.get_legend_handles_labels()
        shown = {**dict(zip(labels, handles, strict=True)), **shown}
    panels[0].set_yticks(range(len(rows)), [printable(row.system.label) for row in rows])
    panels[0].set_ylim(len(rows) - 0.5, -0.5)  # the first row at the top
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", fontsize=8,
                  frameon=False, ncols=len(shown))  # fmt: skip


def _draw_table(axes: Any, table: ResultTable) -> None:
    axes.axvline(table.rows[0].score.value, color="#999999", linewidth=1, zorder=0)
    for place, row in enumerate(table.rows):
        _draw_row(axes, place, row, table)
    axes.set_xlabel(score_name(table.metric))
    axes.grid(axis="x", alpha=0.3)
    axes.tick_params(left=False)
    axes.spines[["top", "left", "right"]].set_visible(False)


def _draw_row(axes: Any, place: int, row: ResultRow, table: ResultTable) -> None:
    mean, against, published = row.score.value, row.test.against, row.published
    if against:
        ends = [table.rows[0].score.value + end for end in against.interval]
        axes.plot(ends, [place] * 2, color=INTERVAL, linewidth=5, alpha=0.6,
                  solid_capstyle="butt", zorder=1, label="difference, 95% interval")  # fmt: skip
    scores = [run.score for run in row.runs if run.score is not None]
    if row.system.seeds == 1:
        scores = [mean]
    axes.scatter(scores, [place] * len(scores), s=26, color=SEED, zorder=2, label="run")
    if row.system.seeds > 1:
        ends = [place - 0.3, place + 0.3]
        axes.plot([mean] * 2, ends, color=MEAN, linewidth=2, zorder=3, label="mean")
    if published.score is not None and published.metric == table.metric:
        axes.scatter(published.score, place, s=40, marker="D", facecolor="none",
                     edgecolor=PUBLISHED, zorder=4, label="published")  # fmt: skip
