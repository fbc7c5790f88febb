"""Scores of one system, with signatures."""

from __future__ import annotations

from collections.abc import Sequence

from ..runs.schema import Score
from .metrics import Metric
from .texts import Texts

# heading of a column → its metrics; the column shows the first that a translation has
COLUMNS = {
    "BLEU": ("mteval-v13a", "zh", "char", "sacrebleu"),
    "BLEU lc": ("mteval-v13a-lc", "zh-lc"),
    "chrF": ("chrf",),
}


def score_metrics(
    texts: Texts, metrics: Sequence[Metric], target_lang: str, paper: Metric | None = None
) -> list[Score]:
    """Scores with several metrics.

    Raises:
        UserError: a metric needs tokenised text and there is none.
    """
    found = []
    for metric in metrics:
        sides = texts.sides(metric)
        score, signature = metric.score(sides.hypotheses, sides.references, target_lang, sides.more)
        found.append(Score(metric.name, score, signature, sides.origin, metric is paper))
    return found
