"""Scores by length of the source sentence: the table and the figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError
from ..figure import Chart, Line, draw_charts
from .chance import Difference, Scores, compare
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

    def gain(self, name: str, first: str) -> Difference | None:
        """Returns the gain of a system over the first, with its interval over the sentences."""
        if name not in self.scores or first not in self.scores:
            return None
        return compare({"": self.scores[name]}, {"": self.scores[first]})


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
    groups: Iterator[tuple[Bucket, list[int]]],
    metric: Metric,
    target_lang: str,
) -> list[Bucket]:
    """Scores the sentences of each length separately; leaves out empty buckets.

    Args:
        name: of the system
        hypotheses: of the sentences
        references: as many lines, for each reference
        groups: from :func:`group_by_length`
        metric: what is computed
        target_lang: chooses sacreBLEU's tokeniser
    """
    buckets = []
    for bucket, chosen in groups:
        if len(chosen) >= LEAST_SENTENCES:
            sides = [metric.prepared([lines[i] for i in chosen]) for lines in references]
            runs = {name: {"": [hypotheses[i] for i in chosen]}}
            scores, enough = resampled(runs, sides, metric.make(target_lang), metric)
            if enough[name]:
                bucket.scores[name] = scores[name][""]
        if chosen:
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
    rows = []
    for bucket in buckets:
        row = [bucket.label, f"{bucket.sentences:,}", _cell(bucket.score(first))]
        for name in others:
            row.append(_cell(bucket.score(name)))
            gain = bucket.gain(name, first)
            if gain:
                low, high = gain.interval
                row += [f"{gain.value:+.2f}", f"[{low:.2f}, {high:.2f}]"]
            else:
                row += ["-", "-"]
        rows.append(row)
    last = ["all", f"{sum(bucket.sentences for bucket in buckets):,}", f"{whole[first]:.2f}"]
    for name in others:
        last += [f"{whole[name]:.2f}", f"{whole[name] - whole[first]:+.2f}", ""]
    return header, [*rows, last]


def _cell(score: float | None) -> str:
    return "-" if score is None else f"{score:.2f}"


def draw_buckets(figure: Any, buckets: Sequence[Bucket], names: Sequence[str], x: str) -> None:
    """Draws the BLEU of each system, and below it the gains over the first with intervals.

    Args:
        figure: an empty matplotlib figure
        buckets: from :func:`score_buckets`, with all systems
        names: of the systems
        x: name of the horizontal axis
    """
    first, *others = names
    scores, gains = {}, {}
    # matplotlib draws nothing for NaN
    for name in names:
        own = [bucket.scores.get(name) for bucket in buckets]
        scores[name] = Line(range(len(buckets)), [each.score if each else math.nan for each in own])
    for number, name in enumerate(others):
        found = [bucket.gain(name, first) for bucket in buckets]
        ends = [gain.interval if gain else (math.nan, math.nan) for gain in found]
        lows, highs = zip(*ends, strict=True)
        beside = [place + 0.06 * number for place in range(len(buckets))]  # all intervals are seen
        values = [gain.value if gain else math.nan for gain in found]
        gains[name] = Line(beside, values, (lows, highs), like=name)

    def name_groups(axes: Any) -> None:
        labels = [f"{b.label}\n({b.sentences:,})" for b in buckets]
        axes.set_xticks(range(len(buckets)), labels, fontsize=8)

    charts = [Chart(x, "BLEU", scores, finish=name_groups)]
    if others:
        charts.append(Chart(x, f"BLEU above {first}, 95% interval", gains, finish=name_groups))
    draw_charts(figure, charts, columns=1, size=PANEL)
