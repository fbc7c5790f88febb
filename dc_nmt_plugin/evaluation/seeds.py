"""One system trained with several seeds: its mean score, and whether it differs from another's."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from sacrebleu.significance import estimate_ci

from .metrics import METRICS, Metric
from .significance import RESAMPLES, Comparison

SEED = 12345  # of the resamples, as sacreBLEU's
_SEED_IN_A_LABEL = re.compile(r"-s\d+(?=,|$)")


def system_of(label: str) -> str:
    """A run's label without its seed.

    >>> system_of("transformer_dc-tiny-s3, decoder aux:1")
    'transformer_dc-tiny, decoder aux:1'
    """
    return _SEED_IN_A_LABEL.sub("", label)


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


def pooled_bootstrap(
    hypotheses: Mapping[str, Sequence[Sequence[str]]],
    references: Sequence[str],
    target_lang: str,
    metric: Metric | None = None,
) -> list[Comparison]:
    """Compare every system's mean over its seeds with the first system's.

    sacreBLEU's paired bootstrap, in which a system's score is the mean of its seeds' scores: what
    is resampled are the sentences, once for all runs, so that a sentence which is easy for every
    seed counts once. With one seed each it is :func:`.significance.paired_bootstrap`.

    Args:
        hypotheses: system → lines of each of its runs; the first is the baseline
        references: lines
        target_lang: chooses sacreBLEU's tokeniser
        metric: default BLEU with sacreBLEU's tokeniser of the language

    Returns:
        the baseline, then the others; scores are means, a deviation is that of the seeds
    """
    metric = metric or METRICS["sacrebleu"]
    tested, prepared = metric.make(target_lang), metric.prepared(references)
    rows = np.random.default_rng(SEED).choice(len(prepared), size=(RESAMPLES, len(prepared)))
    comparisons: list[Comparison] = []
    baseline: tuple[float, np.ndarray] | None = None
    for name, runs in hypotheses.items():
        scores, resampled = [], []
        for lines in runs:
            counts = tested._extract_corpus_statistics(metric.prepared(lines), [prepared])
            scores.append(float(tested._aggregate_and_compute(counts).score))
            table = np.array(counts, dtype="float32")  # as sacreBLEU adds them up
            found = [tested._compute_score_from_stats(table[row].sum(0)).score for row in rows]
            resampled.append(found)
        score, means = statistics.fmean(scores), np.mean(resampled, axis=0)
        difference = p_value = None
        if baseline is None:
            baseline = score, means
        else:
            difference = score - baseline[0]
            gaps = np.abs(means - baseline[1])
            above = int(np.sum(gaps - gaps.mean() > abs(difference)))
            p_value = 1.0 if difference == 0 else (above + 1) / (RESAMPLES + 1)
        interval = float(estimate_ci(means)[1])
        deviation = statistics.stdev(scores) if len(scores) > 1 else None
        comparisons.append(Comparison(name, score, interval, difference, p_value, deviation))
    return comparisons
