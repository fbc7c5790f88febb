"""The statistics of a difference between two systems: interval, p, Holm's correction.

A test score depends on two arbitrary choices: the sentences of the test set and the training seed.
The paired bootstrap (Koehn 2004) resamples only sentences. Clark et al. (2011) show that seeds
alone make differences that this bootstrap calls significant.

With several seeds of both systems the variance of the difference is

    V = V_sentences + max(0, V_seeds - V_both)
    where:
      V_sentences  bootstrap variance of the difference of the means, with these seeds
      V_seeds      s² / m of one system plus s² / m of the other: s² is the variance of the scores
                   of its seeds, m the number of seeds in its mean
      V_both       the part of V_seeds from sentences on which single seeds do well or badly;
                   V_sentences includes this part already

The difference divided by √V is taken as Student's t with Satterthwaite's degrees of freedom.
This is the random-effects variance of studies with several readers and several cases (Obuchowski
and Rockette 1995; Hillis 2007). Its floor is chosen so that V is never below V_sentences. The plain
sum of V_sentences and V_seeds counts V_both twice: in simulations of systems without a difference
it rejected 1.3% to 5.0%, and this form 2.4% to 5.6% (tests/unit/evaluation/test_chance.py).

This module does not depend on texts or metrics.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.05
RESAMPLES = 10_000
LEAST_SENTENCES = 10  # fewer sentences are too few for a comparison
SACREBLEU_RESAMPLES = 1_000
SEED = 12345  # sacreBLEU's: the first resamples are sacreBLEU's own
_AS_NORMAL = 1e6  # degrees of freedom from which Student's t is the normal distribution


@dataclass(frozen=True)
class Scores:
    """Scores of one run, on the test set and on each resample of it (R,)."""

    score: float
    resampled: np.ndarray


@dataclass(frozen=True)
class Difference:
    """A difference of mean scores with its uncertainty.

    Attributes:
        value: mean of the system minus mean of the baseline
        interval: 95% confidence interval
        p_value: two-sided; below 0.05 exactly where the interval excludes 0
        standard_error: of the difference
        freedom: degrees of freedom; None where only the choice of sentences is included
    """

    value: float
    interval: tuple[float, float]
    p_value: float
    standard_error: float
    freedom: float | None


def draws(sentences: int, resamples: int = RESAMPLES) -> Iterator[np.ndarray]:
    """Yields how often each sentence is drawn, in blocks of float64 counts (at most 1,000, N).

    The first block of 1,000 holds sacreBLEU's own resamples.

    Args:
        sentences: N, of the test set
        resamples: how many in all
    """
    generator = np.random.default_rng(SEED)
    for start in range(0, resamples, SACREBLEU_RESAMPLES):
        block = min(SACREBLEU_RESAMPLES, resamples - start)
        drawn = generator.choice(sentences, size=(block, sentences))
        numbered = drawn + sentences * np.arange(block)[:, None]  # (resamples, N)
        counts = np.bincount(numbered.ravel(), minlength=block * sentences)
        yield counts.reshape(block, sentences).astype(float)


def common_seeds(system: Iterable[str], baseline: Container[str]) -> tuple[str, ...]:
    """Returns the seeds that both have, in the system's order."""
    return tuple(seed for seed in system if seed in baseline)


def compare_means(system: Mapping[str, Scores], baseline: Mapping[str, Scores]) -> Difference:
    """Compares the mean of a system's seeds with that of a baseline.

    The same seed gives both systems the same order of the training text. So the means are over the
    seeds that both have, or over all seeds of each system if they share none.

    Args:
        system, baseline: seed → scores on the same resamples
    """
    common = common_seeds(system, baseline)
    of_system, of_baseline = (
        [runs[seed] for seed in common or runs] for runs in (system, baseline)
    )
    value = _mean_score(of_system) - _mean_score(of_baseline)
    resampled = _mean_resampled(of_system) - _mean_resampled(of_baseline)
    of_sentences = float(resampled.var(ddof=1))
    if min(len(system), len(baseline)) > 1:
        seed_variances = [
            _SeedVariance.of(list(system.values()), len(of_system)),
            _SeedVariance.of(list(baseline.values()), len(of_baseline)),
        ]
        return _with_seeds(value, resampled, of_sentences, seed_variances)
    half = half_width(resampled)
    return Difference(
        value=value,
        interval=(value - half, value + half),
        p_value=two_sided(resampled, value),
        standard_error=of_sentences**0.5,
        freedom=None,
    )


def _mean_score(runs: Sequence[Scores]) -> float:
    return float(np.mean([run.score for run in runs]))


def _mean_resampled(runs: Sequence[Scores]) -> np.ndarray:
    return np.asarray(np.mean([run.resampled for run in runs], axis=0))


def _with_seeds(
    value: float,
    resampled: np.ndarray,
    of_sentences: float,
    seed_variances: Sequence[_SeedVariance],
) -> Difference:
    """Returns a difference with the uncertainty from sentences and seeds.

    Args:
        value: the difference
        resampled: (R,)
        of_sentences: V_sentences
        seed_variances: of the system and of the baseline
    """
    from scipy.special import stdtr, stdtrit  # not at the top: scipy takes long to import

    of_seeds = sum(part.variance for part in seed_variances)
    of_both = sum(part.in_sentences for part in seed_variances)
    variance = of_sentences + max(0.0, of_seeds - of_both)
    freedom = _satterthwaite(variance, seed_variances)
    p_value, half = two_sided(resampled, value), half_width(resampled)
    if variance:  # Student's t
        half = float(stdtrit(freedom, 1 - LEVEL / 2)) * variance**0.5
        p_value = float(2 * stdtr(freedom, -abs(value) / variance**0.5))
    return Difference(
        value=value,
        interval=(value - half, value + half),
        p_value=p_value,
        standard_error=variance**0.5,
        freedom=freedom,
    )


def two_sided(resampled: np.ndarray, value: float) -> float:
    """Returns the share of recentred resamples (R,) at least as far from 0 as the difference."""
    extreme = int(np.sum(np.abs(resampled - resampled.mean()) >= abs(value)))
    return (extreme + 1) / (len(resampled) + 1)


def half_width(resampled: np.ndarray) -> float:
    """Returns half of the 95% interval: the greatest difference with a p of at least 0.05."""
    extreme = int(np.ceil(LEVEL * (len(resampled) + 1))) - 1
    return float(np.sort(np.abs(resampled - resampled.mean()))[::-1][extreme - 1])


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns p-values corrected for their number (Holm 1979), in the order given."""
    corrected = [1.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(np.argsort(p_values, kind="stable")):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = highest
    return corrected


@dataclass(frozen=True)
class _SeedVariance:
    """Holds the variance of a system's mean that comes from seeds.

    Attributes:
        variance: its part of V_seeds
        in_sentences: its part of V_both
        freedom: degrees of freedom of `variance`
    """

    variance: float
    in_sentences: float
    freedom: int

    @classmethod
    def of(cls, runs: Sequence[Scores], in_mean: int) -> _SeedVariance:
        """Estimates the variance from all runs of a system; the mean has `in_mean` of them."""
        scores = np.array([run.score for run in runs])
        resampled = np.array([run.resampled for run in runs])  # (seeds, R)
        around = (resampled - resampled.mean(0)).var(axis=1, ddof=1).sum() / (len(runs) - 1)
        return cls(float(scores.var(ddof=1)) / in_mean, float(around) / in_mean, len(runs) - 1)


def _satterthwaite(variance: float, parts: Sequence[_SeedVariance]) -> float:
    squares = sum(part.variance**2 / part.freedom for part in parts)
    return min(variance**2 / squares, _AS_NORMAL) if squares else _AS_NORMAL
