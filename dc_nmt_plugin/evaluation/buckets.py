"""Scores by length of the source sentence: the table and the figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError
from ..figure import Chart, Line, draw_charts
from .chance import Scores, compare
from .metrics import Metric
from .significance import resampled

LEAST_SENTENCES = 50  # of a group; fewer show chance alone
NO_GROUP_SCORE = f"-: fewer than {LEAST_SENTENCES} sentences, or fewer than ten with a 4-gram"
PANEL = (8.0, 2.8)  # inches


@dataclass(frozen=True)
class Bucket:
    """Sentences with ``low`` to ``high`` source words.

    Attributes:
        low, high: both included; high is None in the last bucket
        sentences: how many
        scores: system → corpus score of these sentences and of their resamples; empty where they
            would be meaningless
    """

    low: int
    high: int | None
    sentences: int
    scores: dict[str, Scores] = field(default_factory=dict)

    @property
    def label(self) -> str:
        if self.low == self.high:
            return str(self.low)
        return f"{self.low}+" if self.high is None else f"{self.low}-{self.high}"

    def score(self, name: str) -> float | None:
        """Returns the score of a system; None without one."""
        return self.scores[name].score if name in self.scores else None

    def gain(self, name: str, first: str) -> tuple[float, float, float]:
        """Returns the gain of a system over the first and its 95% interval; NaN without scores.

        The interval is of the choice of sentences (paired bootstrap).
        """
        if name not in self.scores or first not in self.scores:
            return math.nan, math.nan, math.nan
        found = compare({"": self.scores[name]}, {"": self.scores[first]})
        return found.value, *found.interval


def parse_edges(flag: str, text: str) -> tuple[int, ...]:
    """Parses rising whole numbers separated by commas.

    Raises:
        UserError: another form, or numbers that do not rise
    """
    try:
        edges = tuple(int(part) for part in text.split(","))
    except ValueError:
        edges = ()
    if not edges or edges[0] < 1 or list(edges) != sorted(set(edges)):
        raise UsageError(f"{flag}: '{text}' is not a rising list of lengths such as 10,20,30")
    return edges


def quantile_edges(lengths: Sequence[int], groups: int) -> tuple[int, ...]:
    """Returns the lengths at which buckets of nearly equal numbers of sentences begin.

    Sentences of one length stay together, so a text with few lengths has fewer buckets. No bucket
    has too few sentences for a score.

    Args:
        lengths: of the sentences
        groups: number of buckets, at most
    """
    ordered = sorted(lengths)
    edges: list[int] = []
    below = 0  # sentences below the last edge
    for group in range(1, groups):
        edge = ordered[len(ordered) * group // groups]
        shorter = ordered.index(edge)
        if min(shorter - below, len(ordered) - shorter) >= LEAST_SENTENCES:
            edges.append(edge)
            below = shorter
    return tuple(edges)


def group_by_length(
    lengths: Sequence[int], edges: Sequence[int]
) -> Iterator[tuple[Bucket, list[int]]]:
    """Yields each bucket, without scores, and the indices of its sentences.

    Args:
        lengths: of the sentences
        edges: lengths at which a new bucket begins: 10,20 makes 0-9, 10-19, 20 and more
    """
    for low, end in zip((0, *edges), (*edges, None), strict=True):
        last = math.inf if end is None else end - 1
        chosen = [i for i, length in enumerate(lengths) if low <= length <= last]
        yield Bucket(low, None if end is None else end - 1, len(chosen)), chosen


def score_buckets(
    name: str,
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    lengths: Sequence[int],
    edges: Sequence[int],
    metric: Metric,
    target_lang: str,
) -> list[Bucket]:
    """Scores the sentences of each length separately; leaves out empty buckets.

    Args:
        name: of the system
        hypotheses: of the sentences
        references: as many lines, for each reference
        lengths: of the source sentences
        edges: see :func:`group_by_length`
        metric: what is computed
        target_lang: chooses sacreBLEU's tokeniser
    """
    buckets = []
    for bucket, chosen in group_by_length(lengths, edges):
        if not chosen:
            continue
        if len(chosen) >= LEAST_SENTENCES:
            sides = [metric.prepared([lines[i] for i in chosen]) for lines in references]
            runs = {name: {"": [hypotheses[i] for i in chosen]}}
            scores, enough = resampled(runs, sides, metric.make(target_lang), metric)
            if enough[name]:
                bucket.scores[name] = scores[name][""]
        buckets.append(bucket)
    return buckets


def bucket_table(
    buckets: Sequence[Bucket], unit: str, whole: Mapping[str, float]
) -> tuple[list[str], list[list[str]]]:
    """Returns header and cells of a table with a row a bucket, and the gains over the first system.

    Args:
        buckets: from :func:`score_buckets`, with all systems
        unit: what lengths count, such as "words"
        whole: system → score of all sentences, for a last row
    """
    first, *others = whole
    header = [f"source {unit}", "sentences", first]
    for name in others:
        header += [name, "gain", "95% interval"]
    cells = []
    for bucket in buckets:
        row = [bucket.label, f"{bucket.sentences:,}", _cell(bucket.score(first))]
        for name in others:
            gain, low, high = bucket.gain(name, first)
            shown = ["-", "-"] if math.isnan(gain) else [f"{gain:+.2f}", f"[{low:.2f}, {high:.2f}]"]
            row += [_cell(bucket.score(name)), *shown]
        cells.append(row)
    row = ["all", f"{sum(bucket.sentences for bucket in buckets):,}", f"{whole[first]:.2f}"]
    for name in others:
        row += [f"{whole[name]:.2f}", f"{whole[name] - whole[first]:+.2f}", ""]
    return header, [*cells, row]


def _cell(score: float | None) -> str:
    return "-" if score is None else f"{score:.2f}"


def draw_buckets(
    figure: Any, buckets: Sequence[Bucket], names: Sequence[str], metric: str, unit: str
) -> None:
    """Draws the scores of each system, and below them the gains over the first with intervals.

    Args:
        figure: an empty matplotlib figure
        buckets: from :func:`score_buckets`, with all systems
        names: of the systems
        metric: name of the vertical axis
        unit: what lengths count, such as "words"
    """
    first, *others = names
    places = range(len(buckets))
    scores, gains = {}, {}
    for name in names:
        values = [bucket.score(name) for bucket in buckets]
        # matplotlib draws nothing for NaN
        scores[name] = Line(places, [math.nan if value is None else value for value in values])
    for number, name in enumerate(others):
        value, low, high = zip(*(bucket.gain(name, first) for bucket in buckets), strict=True)
        beside = [place + 0.06 * number for place in places]  # so that all intervals are seen
        gains[name] = Line(beside, value, (low, high), like=name)

    def name_groups(axes: Any) -> None:
        labels = [f"{b.label}\n({b.sentences:,})" for b in buckets]
        axes.set_xticks(places, labels, fontsize=8)

    def mark_baseline(axes: Any) -> None:
        name_groups(axes)
        axes.axhline(0, color="grey", linewidth=2)

    x = f"{unit} of the source sentence (number of sentences)"
    charts = [Chart(x, metric, scores, finish=name_groups)]
    if others:
        y = f"{metric} above {first}, 95% interval"
        charts.append(Chart(x, y, gains, finish=mark_baseline))
    draw_charts(figure, charts, columns=1, size=PANEL)
