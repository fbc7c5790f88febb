"""Scores of one system, with signatures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..errors import UserError
from .metrics import Metric
from .texts import Texts


@dataclass(frozen=True)
class MetricScore:
    """One line of the score table.

    Attributes:
        metric: a name in metrics.METRICS
        score: 0 to 100
        signature: sacreBLEU's
        text: processing of both sides before scoring
        paper: this is the paper's metric
    """

    metric: str
    score: float
    signature: str
    text: str
    paper: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Any, origin: object) -> MetricScore:
        """Raises UserError where `values` is not what :meth:`to_json` made."""
        try:
            found = cls(**{f.name: values[f.name] for f in fields(cls)})
            if not isinstance(found.score, (int, float)) or not isinstance(found.metric, str):
                raise TypeError
            return found
        except (KeyError, TypeError):
            raise UserError(f"{origin}: 'scores' is not what dc-nmt score writes") from None


def score_metrics(
    texts: Texts, metrics: Sequence[Metric], target_lang: str, paper: Metric | None = None
) -> list[MetricScore]:
    """Scores with several metrics.

    Raises:
        UserError: a metric needs tokenised text and there is none.
    """
    found = []
    for metric in metrics:
        sides = texts.sides(metric)
        score, signature = metric.score(sides.hypotheses, sides.references, target_lang, sides.more)
        found.append(MetricScore(metric.name, score, signature, sides.origin, metric is paper))
    return found
