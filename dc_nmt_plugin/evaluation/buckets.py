"""Scores by length of the source sentence: the table and the figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UserError
from ..files import write_figure
from .metrics import Metric
from .significance import LEAST_SENTENCES
from .text_checks import UNSPACED

EDGES = (10, 20, 30, 40, 50, 60)  # compare-mt's own
NO_GROUP_SCORE = f"-: fewer than {LEAST_SENTENCES} sentences, or no 4-gram"
PLOTS = ("png", "pdf", "svg")


@dataclass(frozen=True)
class Bucket:
    """Sentences with ``low`` to ``high`` source words.

    Attributes:
        low, high: both included; high is None in the last bucket
        sentences: how many
        scores: system → corpus score of these sentences; None for fewer than ten, and for BLEU
            where the system or the reference has no 4-gram
    """

    low: int
    high: int | None
    sentences: int
    scores: dict[str, float | None]

    @property
    def label(self) -> str:
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
        raise UserError(f"{flag}: '{text}' is not a rising list of lengths such as 10,20,30")
    return edges


def source_lengths(lines: Sequence[str], lang: str | None) -> list[int]:
    """Counts the words of each line, or the characters in languages without spaces (zh, ja)."""
    if lang in UNSPACED:
        return [len("".join(line.split())) for line in lines]
    return [len(line.split()) for line in lines]


def score_buckets(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    lengths: Sequence[int],
    edges: Sequence[int],
    metric: Metric,
    target_lang: str,
) -> list[Bucket]:
    """Scores the sentences of each length separately; leaves out empty buckets.

    Args:
        systems: name → hypotheses
        references: as many
        lengths: of the source sentences
        edges: lengths at which a new bucket begins: 10,20 makes 0-9, 10-19, 20 and more
        metric: what is computed
        target_lang: chooses sacreBLEU's tokeniser
    """
    bounds = [0, *edges]
    highs: list[int | None] = [*(edge - 1 for edge in edges), None]
    buckets = []
    for low, high in zip(bounds, highs, strict=True):
        chosen = [
            i
            for i, length in enumerate(lengths)
            if low <= length and (high is None or length <= high)
        ]
        if not chosen:
            continue
        reference = [references[i] for i in chosen]
        scores = {
            name: group_score(metric, [lines[i] for i in chosen], reference, target_lang)
            for name, lines in systems.items()
        }
        buckets.append(Bucket(low, high, len(chosen), scores))
    return buckets


def group_score(
    metric: Metric,
    lines: Sequence[str],
    references: Sequence[str],
    target_lang: str,
    more: Sequence[Sequence[str]] = (),
) -> float | None:
    """Returns the corpus score of some sentences; None when it would be meaningless.

    That is the case for fewer than ten sentences, and for BLEU without a 4-gram on either side:
    two short sentences with a perfect translation have a BLEU of 0.

    Args:
        lines: hypotheses
        references: as many
        target_lang: chooses sacreBLEU's tokeniser
        more: further references of the same sentences
    """
    if len(lines) < LEAST_SENTENCES:
        return None
    sides = [metric.prepared(side) for side in (lines, references, *more)]
    if metric.is_bleu and not all(_has_4_gram(metric, side, target_lang) for side in sides):
        return None
    return metric.score(lines, references, target_lang, more)[0]


def _has_4_gram(metric: Metric, prepared: Sequence[str], target_lang: str) -> bool:
    counts = metric.make(target_lang)._extract_corpus_statistics(prepared, [prepared])
    return any(row[-1] for row in counts)


def score_cell(score: float | None, form: str = ".2f") -> str:
    """Returns a table's cell, such as 38.58; a dash for None, so that no column shifts."""
    return "-" if score is None else format(score, form)


def bucket_table(buckets: Sequence[Bucket], unit: str) -> tuple[list[str], list[list[str]]]:
    """Returns header and cells of a table with a row a bucket."""
    systems = list(buckets[0].scores)
    cells = [
        [b.label, f"{b.sentences:,}", *(score_cell(b.scores[name]) for name in systems)]
        for b in buckets
    ]
    return [f"source {unit}", "sentences", *systems], cells


def check_plot(flag: str, path: Path) -> None:
    """Raises UserError if the ending of the name is not a supported format."""
    if path.suffix[1:].lower() not in PLOTS:
        raise UserError(f"{flag}: '{path}' must end in one of .{', .'.join(PLOTS)}")


def plot_buckets(buckets: Sequence[Bucket], path: Path, metric: str, unit: str) -> None:
    """Draws one line for each system over the buckets, with the sentences of each bucket below.

    Args:
        buckets: from :func:`score_buckets`
        path: .png, .pdf or .svg
        metric: name of the vertical axis
        unit: what lengths count, "words" or "characters"
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    places = range(len(buckets))
    for name, marker in zip(buckets[0].scores, "osD^vPX*" * len(buckets[0].scores), strict=False):
        scores = [b.scores[name] for b in buckets]
        drawn = [math.nan if score is None else score for score in scores]
        axes.plot(places, drawn, marker=marker, label=name)
    axes.set_xticks(places, [f"{b.label}\n({b.sentences:,})" for b in buckets])
    axes.set_xlabel(f"{unit} of the source sentence (number of sentences)")
    axes.set_ylabel(metric)
    axes.grid(axis="y", alpha=0.3)
    axes.legend()
    write_figure(figure, path)
