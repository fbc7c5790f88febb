"""One system trained with several seeds: its mean score, and whether it differs from another's."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sacrebleu.significance import estimate_ci

from .metrics import METRICS, Metric
from .significance import RESAMPLES, Comparison

SEED = 12345  # of the resamples, as sacreBLEU's
_SEED_IN_A_LABEL = re.compile(r"-s(\d+)(?=,|$)")


def system_of(label: str) -> str:
    """A run's label without its seed.

    >>> system_of("transformer_dc-tiny-s3, decoder aux:1")
    'transformer_dc-tiny, decoder aux:1'
    """
    return _SEED_IN_A_LABEL.sub("", label)


def seed_of(label: str) -> str:
    """The seed in a run's label; "" where there is none.

    >>> seed_of("transformer_dc-tiny-s3, decoder aux:1")
    '3'
    """
    found = _SEED_IN_A_LABEL.search(label)
    return found[1] if found else ""


def by_row(labels: Iterable[str], over_seeds: bool) -> dict[str, list[str]]:
    """Row → labels of the runs that it is of, both in the order in which they come.

    Args:
        labels: of runs
        over_seeds: a row for a system with all of its seeds, not for each run
    """
    rows: dict[str, list[str]] = {}
    for label in labels:
        rows.setdefault(system_of(label) if over_seeds else label, []).append(label)
    return rows


@dataclass(frozen=True)
class _Scores:
    """Of one run, or the mean of several.

    Attributes:
        score: on the test set
        resampled: on each resample of it
    """

    score: float
    resampled: np.ndarray


def pooled_bootstrap(
    hypotheses: Mapping[str, Mapping[str, Sequence[str]]],
    references: Sequence[str],
    target_lang: str,
    metric: Metric | None = None,
) -> list[Comparison]:
    """Compare every system's mean over its seeds with the first system's.

    sacreBLEU's paired bootstrap, in which a system's score is the mean of its seeds' scores: what
    is resampled are the sentences, once for all runs, so that a sentence which is easy for every
    seed counts once. With one seed each it is :func:`.significance.paired_bootstrap`.

    A seed moves both systems' scores, the order of the training text being the same, so the
    means of a difference are over the seeds that both have; of all where they share none.

    That is the chance of the sentences. The chance of the seeds is another one, Welch's two-sided
    t-test of all scores of either system, as many as there are seeds.

    Args:
        hypotheses: system → seed → lines; the first system is the baseline
        references: lines
        target_lang: chooses sacreBLEU's tokeniser
        metric: default BLEU with sacreBLEU's tokeniser of the language

    Returns:
        the baseline, then the others; scores are means over all seeds of a system, a deviation is
        that of the seeds
    """
    metric = metric or METRICS["sacrebleu"]
    tested, prepared = metric.make(target_lang), metric.prepared(references)
    rows = np.random.default_rng(SEED).choice(len(prepared), size=(RESAMPLES, len(prepared)))

    def scores_of(lines: Sequence[str]) -> _Scores:
        counts = tested._extract_corpus_statistics(metric.prepared(lines), [prepared])
        table = np.array(counts, dtype="float32")  # as sacreBLEU adds them up
        found = [tested._compute_score_from_stats(table[row].sum(0)).score for row in rows]
        return _Scores(float(tested._aggregate_and_compute(counts).score), np.array(found))

    comparisons: list[Comparison] = []
    baseline: dict[str, _Scores] = {}
    for name, runs in hypotheses.items():
        scores = {seed: scores_of(lines) for seed, lines in runs.items()}
        all_seeds = _mean(scores.values())
        difference = p_value = seeds = seeds_p_value = None
        if baseline:
            seeds = tuple(seed for seed in scores if seed in baseline)
            ours, theirs = (_mean([of[seed] for seed in seeds or of]) for of in (scores, baseline))
            difference = ours.score - theirs.score
            gaps = np.abs(ours.resampled - theirs.resampled)
            above = int(np.sum(gaps - gaps.mean() > abs(difference)))
            p_value = 1.0 if difference == 0 else (above + 1) / (RESAMPLES + 1)
            seeds_p_value = _welch(scores.values(), baseline.values())
        else:
            baseline = scores
        interval = float(estimate_ci(all_seeds.resampled)[1])
        found = [each.score for each in scores.values()]
        deviation = statistics.stdev(found) if len(found) > 1 else None
        comparisons.append(
            Comparison(
                *(name, all_seeds.score, interval, difference, p_value, deviation, seeds),
                seeds_p_value=seeds_p_value,
            )
        )
    return comparisons


def _welch(ours: Iterable[_Scores], theirs: Iterable[_Scores]) -> float | None:
    from scipy.stats import ttest_ind

    scores = [[run.score for run in runs] for runs in (ours, theirs)]
    if min(map(len, scores)) < 2:
        return None
    if all(len(set(of)) == 1 for of in scores):  # without any variance there is no test
        return None
    return float(ttest_ind(*scores, equal_var=False).pvalue)


def _mean(runs: Iterable[_Scores]) -> _Scores:
    every = list(runs)
    resampled = np.mean([run.resampled for run in every], axis=0)
    return _Scores(statistics.fmean(run.score for run in every), resampled)
