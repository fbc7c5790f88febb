"""Scores systems on one test set and compares them with a baseline: bootstrap and t-test."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import UsageError
from .chance import (
    LEAST_SENTENCES,
    SACREBLEU_RESAMPLES,
    Difference,
    Scores,
    common_seeds,
    compare_means,
    draws,
    holm,
)
from .metrics import Metric

_LONGEST_NGRAM = 5  # column of sacreBLEU's counts for BLEU: matching 4-grams of a sentence

# seed → lines of one run; "" for a single run
Runs = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Comparison:
    """A system and, unless it is the baseline, its comparison with the baseline.

    Attributes:
        name: of the system
        score: on the test set; the mean of several seeds
        interval: half of the 95% confidence interval of the score, of the choice of sentences
        deviation: standard deviation of the scores of several seeds; None for one run
        difference: mean score minus mean score of the baseline, over `seeds`; None for the baseline
        seeds: that both have; empty: they share no seed, so the difference is over all seeds; None
            for the baseline and single runs
        against: the test of the difference; None for the baseline, and where both have too little
            text for a test
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
    hypotheses: Mapping[str, Runs],
    references: Sequence[str],
    target_lang: str,
    metric: Metric,
) -> list[Comparison]:
    """Compares every system's mean over its seeds with the first system's.

    Args:
        hypotheses: system → seed → lines as the metric scores them; the first is the baseline
        references: lines
        target_lang: chooses sacreBLEU's tokeniser
        metric: of the scores

    Returns:
        the baseline, then the others
    """
    scores, enough = _resampled(
        hypotheses, metric.prepared(references), metric.make(target_lang), metric
    )
    baseline = next(iter(scores))
    comparisons = [_described(name, runs) for name, runs in scores.items()]
    for number, (name, runs) in enumerate(scores.items()):
        if name != baseline:
            test = compare_means(runs, scores[baseline])
            common = common_seeds(runs, scores[baseline])
            comparisons[number] = replace(
                comparisons[number],
                difference=test.value,
                seeds=None if common == ("",) else common,  # single runs
                against=test if enough[name] or enough[baseline] else None,
            )
    tested = [c.against.p_value for c in comparisons if c.against]
    corrected = iter(holm(tested))
    return [replace(c, corrected_p=next(corrected)) if c.against else c for c in comparisons]


def paired_bootstrap(
    hypotheses: Mapping[str, Sequence[str]],
    references: Sequence[str],
    target_lang: str,
    metric: Metric,
) -> list[Comparison]:
    """Runs :func:`compare_systems` with one run for each system: name → lines."""
    runs = {name: {"": lines} for name, lines in hypotheses.items()}
    return compare_systems(runs, references, target_lang, metric)


def _resampled(
    hypotheses: Mapping[str, Runs], references: Sequence[str], scorer: Any, metric: Metric
) -> tuple[dict[str, dict[str, Scores]], dict[str, bool]]:
    """Scores runs on the test set and on its resamples, with sacreBLEU's counts of each sentence.

    Args:
        hypotheses: see :func:`compare_systems`
        references: lines, as `metric` prepares them
        scorer: made by `metric` for the target language
        metric: of the scores

    Returns:
        system → seed → scores; system → whether a run has enough text for a test
    """
    counts: dict[tuple[str, str], list[list[int]]] = {}
    for name, runs in hypotheses.items():
        for seed, lines in runs.items():
            counts[name, seed] = scorer._extract_corpus_statistics(
                metric.prepared(lines), [references]
            )
    tables = {run: np.array(rows, dtype=float) for run, rows in counts.items()}
    values: dict[tuple[str, str], list[float]] = {run: [] for run in counts}
    for block in draws(len(references)):  # (resamples, sentences)
        for run, table in tables.items():
            sums = (block @ table).astype("float32")  # as sacreBLEU adds them up
            values[run] += [scorer._compute_score_from_stats(row).score for row in sums]
    scores: dict[str, dict[str, Scores]] = {}
    enough = dict.fromkeys(hypotheses, False)
    for (name, seed), table in tables.items():
        score = float(scorer._aggregate_and_compute(counts[name, seed]).score)
        scores.setdefault(name, {})[seed] = Scores(score, np.array(values[name, seed]))
        sentences = int((table[:, _LONGEST_NGRAM] > 0).sum()) if metric.is_bleu else len(table)
        enough[name] |= sentences >= LEAST_SENTENCES
    return scores, enough


def _described(name: str, runs: Mapping[str, Scores]) -> Comparison:
    from sacrebleu.significance import estimate_ci  # not at the top: --help needs no sacreBLEU

    scores = [run.score for run in runs.values()]
    mean = np.mean([run.resampled[:SACREBLEU_RESAMPLES] for run in runs.values()], axis=0)
    deviation = statistics.stdev(scores) if len(scores) > 1 else None
    return Comparison(name, statistics.fmean(scores), float(estimate_ci(mean)[1]), deviation)


@dataclass(frozen=True)
class TTest:
    """The test of a system against the baseline.

    Attributes:
        name: of the system
        t: statistic; positive where the system is better
        p_value: of the hypothesis that the system is not better
    """

    name: str
    t: float
    p_value: float


def t_tests(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    target_lang: str,
    metric: Metric,
) -> list[TTest]:
    """Tests if each system is better than the first.

    The paper does not name the tested quantity. Here it is sentence BLEU (add-one from bigrams on).

    Args:
        systems: name → lines as the metric scores them; the first is the baseline
        references: lines
        target_lang: chooses sacreBLEU's tokeniser
        metric: BLEU of some kind

    Raises:
        UserError: fewer than two sentences, or a metric that is no BLEU
    """
    if not metric.is_bleu:
        raise UsageError(f"--t-test: is of sentence BLEU, not of {metric.name}")
    if len(references) < 2:
        raise UsageError(f"--t-test: {len(references)} sentence is too few")
    from sacrebleu.metrics import BLEU
    from scipy.stats import ttest_rel

    of_metric = metric.make(target_lang)
    sentence = BLEU(smooth_method="add-k", smooth_value=1, effective_order=True)
    sentence.lowercase, sentence.tokenizer = of_metric.lowercase, of_metric.tokenizer
    prepared = metric.prepared(references)
    scores = {}
    for name, lines in systems.items():
        pairs = zip(metric.prepared(lines), prepared, strict=True)
        scores[name] = [
            sentence.sentence_score(line, [reference]).score for line, reference in pairs
        ]
    (_, baseline), *others = scores.items()
    tests = []
    for name, system in others:
        if system == baseline:  # no difference at all: nothing to divide by
            tests.append(TTest(name, 0.0, 0.5))
        else:
            result = ttest_rel(system, baseline, alternative="greater")
            tests.append(TTest(name, float(result.statistic), float(result.pvalue)))
    return tests
