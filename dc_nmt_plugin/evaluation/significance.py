"""Is a difference more than chance: paired bootstrap resampling, sacreBLEU's own test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sacrebleu.significance import PairedTest, Result

from ..table import format_table
from .metrics import METRICS, Metric

RESAMPLES = 1000
LEVEL = 0.05


@dataclass(frozen=True)
class Comparison:
    """A system, against the baseline where it is not the baseline itself.

    Attributes:
        name: of the system
        score: on the test set
        interval: half the width of the 95% confidence interval of the resamples' scores
        difference: score of the system minus score of the baseline
        p_value: how often chance alone makes such a difference; sacreBLEU's smallest is
            1 / (resamples + 1)
        deviation: standard deviation of the scores of several seeds; None for one run
        seeds: over which difference and p are, those that both systems have (empty: they share
            none, so over all of either); None for the baseline and where seeds are not pooled
        seeds_p_value: how often seeds alone make such a difference; None where either system has
            one seed
    """

    name: str
    score: float
    interval: float
    difference: float | None = None
    p_value: float | None = None
    deviation: float | None = None
    seeds: tuple[str, ...] | None = None
    seeds_p_value: float | None = None

    @property
    def significant(self) -> bool:
        return self.p_value is not None and self.p_value < LEVEL


def paired_bootstrap(
    hypotheses: Mapping[str, Sequence[str]],
    references: Sequence[str],
    target_lang: str,
    metric: Metric | None = None,
) -> list[Comparison]:
    """Compare every system with the first one (Koehn 2004; 1,000 full-size resamples, seed 12345).

    Args:
        hypotheses: name → lines as the metric scores them; the first is the baseline
        references: lines
        target_lang: chooses sacreBLEU's tokeniser
        metric: default BLEU with sacreBLEU's tokeniser of the language

    Returns:
        the baseline, then the others
    """
    metric = metric or METRICS["sacrebleu"]
    lines = {name: metric.prepared(text) for name, text in hypotheses.items()}
    tested = metric.make(target_lang)
    test = PairedTest(
        list(lines.items()),
        {"": tested},
        references=[metric.prepared(references)],
        test_type="bs",
        n_samples=RESAMPLES,
    )
    _, scores = test()
    # the only list of results; the other one is of the systems' names
    found = next(s for s in scores.values() if s and isinstance(s[0], Result))
    baseline, *systems = [score for score in found if isinstance(score, Result)]
    first, *others = lines
    comparisons = [Comparison(first, float(baseline.score), float(baseline.ci or 0.0))]
    for name, system in zip(others, systems, strict=True):
        score, interval = float(system.score), float(system.ci or 0.0)
        # sacreBLEU counts resamples with a greater difference, so it calls equals significant
        p_value = 1.0 if score == baseline.score else float(system.p_value or 0.0)
        comparisons.append(Comparison(name, score, interval, score - baseline.score, p_value))
    return comparisons


def comparison_rows(comparisons: Sequence[Comparison]) -> list[tuple[str, ...]]:
    """Cells: name, score, its interval, difference, p, a mark below 0.05."""
    return [
        (
            c.name,
            f"{c.score:.2f}",
            f"±{c.interval:.2f}",
            "" if c.difference is None else f"{c.difference:+.2f}",
            "" if c.p_value is None else f"{c.p_value:.3f}",
            "*" if c.significant else "",
        )
        for c in comparisons
    ]


def comparison_header(comparisons: Sequence[Comparison], metric: str) -> tuple[str, ...]:
    """Names of the columns of :func:`comparison_rows`."""
    return (f"against {comparisons[0].name}", metric, "95%", "difference", "p", f"p < {LEVEL}")


def format_comparisons(comparisons: Sequence[Comparison], metric: str = "BLEU") -> str:
    """A row a system: score, difference to the baseline, p, and a mark below 0.05."""
    return format_table(comparison_header(comparisons, metric), comparison_rows(comparisons))
