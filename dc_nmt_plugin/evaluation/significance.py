"""Scores systems on one test set and compares them with a baseline."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .chance import (
    SACREBLEU_RESAMPLES,
    Difference,
    Scores,
    common_seeds,
    compare,
    draws,
    holm,
)
from .metrics import METRICS, Metric

LEAST_SENTENCES = 10  # fewer sentences are too few for a comparison
_LONGEST_NGRAM = 5  # column of sacreBLEU's counts for BLEU: matching 4-grams of a sentence


@dataclass(frozen=True)
class Comparison:
    """A system and, unless it is the baseline, its comparison with the baseline.

    Attributes:
        name: of the system
        score: on the test set; the mean of several seeds
        interval: half of the 95% confidence interval of the score, of the choice of sentences
        deviation: standard deviation of the scores of several seeds; None for one run
        against: the test of the difference; None for the baseline, and where both have too little
            text for a test
        difference: mean score minus mean score of the baseline, over `seeds`; None for the baseline
        seeds: that both have; empty: they share no seed, so the difference is over all seeds; None
            for the baseline
        corrected_p: two-sided p, by Holm for the number of systems
    """

    name: str
    score: float
    interval: float
    deviation: float | None = None
    difference: float | None = None
    seeds: tuple[str, ...] | None = None
    against: Difference | None = None
    corrected_p: float | None = None


def compare_systems(
    hypotheses: Mapping[str, Mapping[str, Sequence[str]]],
    references: Sequence[str],
    target_lang: str,
    metric: Metric | None = None,
    more: Sequence[Sequence[str]] = (),
) -> list[Comparison]:
    """Compares every system's mean over its seeds with the first system's.

    Args:
        hypotheses: system → seed → lines as the metric scores them; the first is the baseline
        references: lines
        target_lang: chooses sacreBLEU's tokeniser
        metric: default BLEU with sacreBLEU's tokeniser of the language
        more: further references of the same sentences

    Returns:
        the baseline, then the others
    """
    return _corrected(_compared(*resampled(hypotheses, references, target_lang, metric, more)))


def resampled(
    hypotheses: Mapping[str, Mapping[str, Sequence[str]]],
    references: Sequence[str],
    target_lang: str,
    metric: Metric | None = None,
    more: Sequence[Sequence[str]] = (),
) -> tuple[dict[str, dict[str, Scores]], dict[str, bool]]:
    """Scores runs on the test set and on its resamples; the arguments are as in
    :func:`compare_systems`.

    Returns:
        system → seed → scores; system → whether a run has enough text for a test
    """
    metric = metric or METRICS["sacrebleu"]
    tested = metric.make(target_lang)
    sides = [metric.prepared(lines) for lines in (references, *more)]
    texts = [
        (name, seed, lines) for name, runs in hypotheses.items() for seed, lines in runs.items()
    ]
    counts = [tested._extract_corpus_statistics(metric.prepared(t[2]), sides) for t in texts]
    tables = [np.array(each, dtype=float) for each in counts]
    drawn: list[list[float]] = [[] for _ in texts]
    for block in draws(len(references)):
        for table, found in zip(tables, drawn, strict=True):
            sums = (block @ table).astype("float32")  # as sacreBLEU adds them up
            found += [tested._compute_score_from_stats(row).score for row in sums]
    scores: dict[str, dict[str, Scores]] = {}
    enough: dict[str, bool] = {}
    for (name, seed, _), each, table, found in zip(texts, counts, tables, drawn, strict=True):
        score = float(tested._aggregate_and_compute(each).score)
        scores.setdefault(name, {})[seed] = Scores(score, np.array(found))
        sentences = int((table[:, _LONGEST_NGRAM] > 0).sum()) if metric.is_bleu else len(table)
        enough[name] = enough.get(name, False) or sentences >= LEAST_SENTENCES
    return scores, enough


def paired_bootstrap(
    hypotheses: Mapping[str, Sequence[str]],
    references: Sequence[str],
    target_lang: str,
    metric: Metric | None = None,
    more: Sequence[Sequence[str]] = (),
) -> list[Comparison]:
    """Runs :func:`compare_systems` with one run for each system: name → lines."""
    runs = {name: {"": lines} for name, lines in hypotheses.items()}
    found = compare_systems(runs, references, target_lang, metric, more)
    return [replace(comparison, seeds=None) for comparison in found]


def _compared(
    scores: Mapping[str, Mapping[str, Scores]], enough: Mapping[str, bool]
) -> list[Comparison]:
    from sacrebleu.significance import estimate_ci  # not at the top: --help needs no sacreBLEU

    baseline = next(iter(scores))
    comparisons = []
    for name, runs in scores.items():
        own = [run.score for run in runs.values()]
        mean = np.mean([run.resampled[:SACREBLEU_RESAMPLES] for run in runs.values()], axis=0)
        found = Comparison(
            name,
            statistics.fmean(own),
            float(estimate_ci(mean)[1]),
            statistics.stdev(own) if len(own) > 1 else None,
        )
        if name != baseline:
            against = compare(runs, scores[baseline])
            tested = against if enough[name] or enough[baseline] else None
            seeds = common_seeds(runs, scores[baseline])
            found = replace(found, difference=against.value, seeds=seeds, against=tested)
        comparisons.append(found)
    return comparisons


def _corrected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Adds p corrected for the number of comparisons with one baseline."""
    tested = [c for c in comparisons if c.against is not None]
    values = iter(holm([c.against.p_value for c in tested if c.against]))
    return [replace(c, corrected_p=next(values)) if c.against else c for c in comparisons]
