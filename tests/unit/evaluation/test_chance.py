"""Intervals and p on synthetic systems of known truth: a score is a mean of sentences' values.

Every rate stands beside the bounds in which a binomial variable of the claimed probability lies
with 99.9%.
"""

import numpy as np
import pytest
from scipy.stats import binom, norm

from dc_nmt_plugin.laboratory.evaluation.chance import (
    Scores,
    compare_means,
    draws,
    half_width,
    holm,
    two_sided,
)

N = 200  # sentences
TESTS = 700


@pytest.fixture(scope="module")
def block():
    return next(draws(N, 600))


def bounds(probability):
    return [binom.ppf(q, TESTS, probability) / TESTS for q in (0.0005, 0.9995)]


def scored(values, block):
    """Runs (runs, N) as scores."""
    return [
        Scores(v.mean(), resampled)
        for v, resampled in zip(values, values @ block.T / N, strict=True)
    ]


def trials(block, of_seed, of_both, of_system, difference=0.0, seeds=3):
    """Differences of pairs of systems.

    Args:
        of_seed: standard deviation of a seed's effect on all sentences, in standard errors
        of_both: of a seed's effect on single sentences
        of_system: of the systems' difference on single sentences
    """
    chooser = np.random.default_rng(7)
    results = []
    for _ in range(TESTS):
        sides = []
        for truth in (difference, 0.0):
            on_all = chooser.normal(truth, of_seed / N**0.5, (seeds, 1))
            on_each = chooser.normal(0, of_both, (seeds, N))
            values = chooser.normal(0, of_system / 2**0.5, N) + on_all + on_each
            sides.append({str(s): run for s, run in enumerate(scored(values, block))})
        results.append(compare_means(*sides))
    return results


def rate(hits):
    return sum(hits) / TESTS


def test_one_run_each_rejects_and_covers_as_it_says(block):
    truth = 0.15
    null = trials(block, 0, 0.7, 0.7, seeds=1)
    low, high = bounds(0.05)
    assert low <= rate(d.p_value < 0.05 for d in null) <= high
    low, high = bounds(0.95)
    differ = trials(block, 0, 0.7, 0.7, truth, seeds=1)
    assert low <= rate(d.interval[0] <= truth <= d.interval[1] for d in differ) <= high
    assert all(d.freedom is None for d in differ)


@pytest.mark.parametrize(
    ("of_seed", "of_both", "of_system", "exact"),
    [
        (3, 0.5, 0.5, True),  # seeds decide
        (1, 0.1, 0.7, True),  # both do
        (0, 0.2, 0.8, True),  # sentences do
        (0, 0.8, 0.2, False),  # a seed is good at some sentences: then it is cautious
    ],
)
@pytest.mark.parametrize("seeds", [2, 3])
def test_with_seeds_it_rejects_and_covers_as_it_says(
    block, of_seed, of_both, of_system, exact, seeds
):
    low, high = bounds(0.05)
    null = trials(block, of_seed, of_both, of_system, seeds=seeds)
    rejected = rate(d.p_value < 0.05 for d in null)
    assert (low if exact and seeds > 2 else 0.005) <= rejected <= high
    assert all((d.p_value < 0.05) == (d.interval[0] * d.interval[1] > 0) for d in null)
    if (seeds, of_seed) == (3, 1):
        truth = 0.2
        results = trials(block, of_seed, of_both, of_system, truth, seeds=seeds)
        low, high = bounds(0.95)
        assert low <= rate(d.interval[0] <= truth <= d.interval[1] for d in results) <= high


def test_equal_scores_have_p_1_and_nearly_equal_ones_nearly(block):
    values = np.random.default_rng(2).normal(0, 1, (1, N))
    (same,) = scored(values, block)
    results = compare_means({"": same}, {"": same})
    assert results.p_value == 1 and results.interval == (0, 0)
    seeds = {"1": same, "2": same}
    assert compare_means(seeds, seeds).p_value == 1 and compare_means(seeds, seeds).freedom
    other = np.random.default_rng(3).normal(0, 1, (1, N))
    (other,) = scored(other + values.mean() - other.mean() + 3e-3, block)
    assert 0.9 < compare_means({"": other}, {"": same}).p_value < 1


def test_an_interval_excludes_0_exactly_where_p_is_below_its_level():
    resampled = np.random.default_rng(4).normal(1.0, 0.5, 999)
    half = half_width(resampled)
    assert two_sided(resampled, half) >= 0.05 > two_sided(resampled, half + 1e-9)
    assert half == pytest.approx(0.5 * norm.ppf(0.975), rel=0.1)


def test_holm():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1, 1] and holm([0.02]) == [0.02] and holm([]) == []
    p_values = np.random.default_rng(5).uniform(size=(TESTS, 10))
    assert rate(min(row) < 0.05 for row in p_values) > 0.3
    low, high = bounds(0.05)
    assert low <= rate(min(holm(list(row))) < 0.05 for row in p_values) <= high
