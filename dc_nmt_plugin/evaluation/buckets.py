"""Scores by length of the source sentence: the table and the figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import UsageError
from ..figure import Chart, Line, draw_charts
from .metrics import Metric
from .significance import LEAST_SENTENCES

NO_GROUP_SCORE = f"-: fewer than {LEAST_SENTENCES} sentences, or no 4-gram"
PANEL = (8.0, 2.8)  # inches

# system → corpus score; None where a score would be meaningless
Scores = Mapping[str, float | None]


@dataclass(frozen=True)
class Bucket:
    """Sentences with ``low`` to ``high`` source words.

    Attributes:
        low, high: both included; high is None in the last bucket
        sentences: how many
        scores: of these sentences; None for fewer than ten, and for BLEU where the system or the
            reference has no 4-gram
    """

    low: int
    high: int | None
    sentences: int
    scores: Scores

    @property
    def label(self) -> str:
        if self.low == self.high:
            return str(self.low)
        return f"{self.low}+" if self.high is None else f"{self.low}-{self.high}"


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

    Sentences of one length stay together, so a text with few lengths has fewer buckets.
    """
    ordered = sorted(lengths)
    starts = {ordered[len(ordered) * group // groups] for group in range(1, groups)}
    return tuple(sorted(starts - {ordered[0]}))


def group_by_length(
    lengths: Sequence[int], edges: Sequence[int]
) -> Iterator[tuple[Bucket, list[int]]]:
    """Yields each bucket, without scores, and the indices of its sentences, if any.

    Args:
        lengths: of the sentences
        edges: lengths at which a new bucket begins: 10,20 makes 0-9, 10-19, 20 and more
    """
    for low, end in zip((0, *edges), (*edges, None), strict=True):
        last = math.inf if end is None else end - 1
        chosen = [i for i, length in enumerate(lengths) if low <= length <= last]
        yield Bucket(low, None if end is None else end - 1, len(chosen), {}), chosen


def score_buckets(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    lengths: Sequence[int],
    edges: Sequence[int],
    metric: Metric,
    target_lang: str,
    more: Sequence[Sequence[str]] = (),
) -> list[Bucket]:
    """Scores the sentences of each length separately; leaves out empty buckets.

    Args:
        systems: name → hypotheses
        references: as many
        lengths: of the source sentences
        edges: see :func:`group_by_length`
        metric: what is computed
        target_lang: chooses sacreBLEU's tokeniser
        more: further references of the same sentences
    """
    buckets = []
    for bucket, chosen in group_by_length(lengths, edges):
        if chosen:
            sides = [[lines[i] for i in chosen] for lines in (references, *more)]
            scores = {
                name: _group_score(metric, [lines[i] for i in chosen], sides, target_lang)
                for name, lines in systems.items()
            }
            buckets.append(replace(bucket, scores=scores))
    return buckets


def _group_score(
    metric: Metric, lines: list[str], references: list[list[str]], target_lang: str
) -> float | None:
    """Returns the corpus score of some sentences; None when it would be meaningless.

    Two short sentences with a perfect translation have a BLEU of 0.
    """
    if len(lines) < LEAST_SENTENCES:
        return None
    if metric.is_bleu:
        scorer = metric.make(target_lang)
        for side in (lines, *references):
            prepared = metric.prepared(side)
            counts = scorer._extract_corpus_statistics(prepared, [prepared])
            if not any(row[-1] for row in counts):  # 4-grams
                return None
    first, *more = references
    return metric.score(lines, first, target_lang, more)[0]


def bucket_table(
    buckets: Sequence[Bucket], unit: str, whole: Mapping[str, float] | None = None
) -> tuple[list[str], list[list[str]]]:
    """Returns header and cells of a table with a row a bucket, and the gains over the first system.

    Args:
        buckets: from :func:`score_buckets`
        unit: what lengths count, such as "words"
        whole: system → score of all sentences, for a last row
    """
    first, *others = buckets[0].scores
    header = [f"source {unit}", "sentences", first]
    for name in others:
        header += [name, "gain"]
    rows: list[tuple[str, int, Scores]] = [(b.label, b.sentences, b.scores) for b in buckets]
    if whole:
        rows.append(("all", sum(b.sentences for b in buckets), whole))
    cells = []
    for label, sentences, scores in rows:
        row = [label, f"{sentences:,}", _cell(scores[first], ".2f")]
        for name in others:
            row += [_cell(scores[name], ".2f"), _cell(_gain(scores, name, first), "+.2f")]
        cells.append(row)
    return header, cells


def _cell(score: float | None, form: str) -> str:
    return "-" if score is None else format(score, form)


def _gain(scores: Scores, name: str, first: str) -> float | None:
    score, baseline = scores[name], scores[first]
    return None if score is None or baseline is None else score - baseline


def draw_buckets(figure: Any, buckets: Sequence[Bucket], metric: str, unit: str) -> None:
    """Draws the scores of each system, and below them their differences to the first system.

    Args:
        figure: an empty matplotlib figure
        buckets: from :func:`score_buckets`
        metric: name of the vertical axis
        unit: what lengths count, such as "words"
    """
    first, *others = buckets[0].scores
    scores, gains = {}, {}
    for name in (first, *others):
        scores[name] = _line([bucket.scores[name] for bucket in buckets])
        gains[name] = _line([_gain(bucket.scores, name, first) for bucket in buckets])
    del gains[first]

    def name_groups(axes: Any) -> None:
        labels = [f"{b.label}\n({b.sentences:,})" for b in buckets]
        axes.set_xticks(range(len(buckets)), labels, fontsize=8)

    def mark_baseline(axes: Any) -> None:
        name_groups(axes)
        axes.axhline(0, color="grey", linewidth=2)

    x = f"{unit} of the source sentence (number of sentences)"
    charts = [Chart(x, metric, scores, finish=name_groups)]
    if others:
        charts.append(Chart(x, f"{metric} above {first}", gains, finish=mark_baseline))
    draw_charts(figure, charts, columns=1, size=PANEL)


def _line(values: Sequence[float | None]) -> Line:
    # matplotlib draws nothing for NaN
    return Line(range(len(values)), [math.nan if value is None else value for value in values])
