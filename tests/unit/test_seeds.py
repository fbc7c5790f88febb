"""Systems of several seeds: means, deviations and the bootstrap of the means."""

import random
import statistics

import pytest
from scipy.stats import t as student

from dc_nmt_plugin.evaluation.metrics import METRICS
from dc_nmt_plugin.evaluation.seeds import by_row, pooled_bootstrap, seed_of
from dc_nmt_plugin.evaluation.significance import paired_bootstrap

WORDS = ["the", "a", "house", "tree", "river", "green", "old", "walks", "sees", "of", "in"]


@pytest.fixture(scope="module")
def reference():
    chooser = random.Random(1)
    return [" ".join(chooser.choices(WORDS, k=12)) for _ in range(80)]


def spoil(lines, share, seed):
    chooser = random.Random(seed)
    return [
        " ".join("x" if chooser.random() < share else word for word in line.split())
        for line in lines
    ]


@pytest.mark.parametrize("metric", ["multi-bleu-lc", "chrf", "ter"])
def test_with_one_seed_it_is_the_paired_bootstrap(metric, reference):
    systems = {"base": spoil(reference, 0.2, 2), "near": spoil(reference, 0.22, 3)}
    systems["far"] = spoil(reference, 0.4, 4)
    single = paired_bootstrap(systems, reference, "en", METRICS[metric])
    pooled = pooled_bootstrap(
        {name: {"1": lines} for name, lines in systems.items()}, reference, "en", METRICS[metric]
    )
    for one, other in zip(single, pooled, strict=True):
        assert one.name == other.name and one.p_value == other.p_value
        assert one.score == pytest.approx(other.score, abs=1e-9)
        assert one.interval == pytest.approx(other.interval, abs=1e-6)
        assert other.deviation is None


def test_scores_are_means_and_the_deviation_is_that_of_the_seeds(reference):
    metric = METRICS["multi-bleu"]
    base = {str(seed): spoil(reference, 0.2, seed) for seed in (2, 3, 4)}
    ours = {str(seed): spoil(reference, 0.3, seed) for seed in (5, 6)}
    first, second = pooled_bootstrap({"base": base, "ours": ours}, reference, "en", metric)
    scores = [
        [metric.score(lines, reference, "en")[0] for lines in runs.values()]
        for runs in (base, ours)
    ]
    assert first.score == pytest.approx(statistics.fmean(scores[0]))
    assert second.score == pytest.approx(statistics.fmean(scores[1]))
    assert second.deviation == pytest.approx(statistics.stdev(scores[1]))
    assert second.difference == pytest.approx(second.score - first.score)
    assert first.p_value is None and second.significant
    assert first.seeds is None and second.seeds == ()


def test_the_chance_of_the_seeds_is_welch_s_t_test(reference):
    metric = METRICS["multi-bleu"]
    base = {str(seed): spoil(reference, 0.2, seed) for seed in (2, 3, 4)}
    ours = {str(seed): spoil(reference, 0.21, seed) for seed in (5, 6)}
    first, second = pooled_bootstrap({"base": base, "ours": ours}, reference, "en", metric)
    a, b = second.deviation**2 / 2, first.deviation**2 / 3
    freedom = (a + b) ** 2 / (a**2 / 1 + b**2 / 2)  # Welch and Satterthwaite
    expected = 2 * student.sf(abs(second.score - first.score) / (a + b) ** 0.5, freedom)
    assert second.seeds_p_value == pytest.approx(expected)
    assert first.seeds_p_value is None
    alone = {"base": base, "ours": {"5": ours["5"]}}
    assert pooled_bootstrap(alone, reference, "en", metric)[1].seeds_p_value is None
    same = {"base": dict.fromkeys("12", base["2"]), "ours": dict.fromkeys("12", ours["5"])}
    assert pooled_bootstrap(same, reference, "en", metric)[1].seeds_p_value is None


def test_a_difference_is_of_the_seeds_that_both_have(reference):
    """Otherwise a baseline's seed that the system lacks passes for the system's gain."""
    base = {"1": spoil(reference, 0.1, 1), "2": spoil(reference, 0.3, 2)}
    ours = {"2": spoil(reference, 0.28, 3), "4": spoil(reference, 0.1, 4)}
    _, both = pooled_bootstrap({"base": base, "ours": ours}, reference, "en")
    alone = {"base": base["2"], "ours": ours["2"]}
    _, single = paired_bootstrap(alone, reference, "en")
    assert both.seeds == ("2",) and both.p_value == single.p_value
    assert both.difference == pytest.approx(single.difference)
    assert both.score > single.score  # the mean of all its seeds


def test_the_same_runs_again_are_no_new_evidence(reference):
    """Three equal seeds say as much as one: the sentences are what is resampled."""
    base, near = spoil(reference, 0.2, 2), spoil(reference, 0.23, 3)
    once = pooled_bootstrap({"base": {"1": base}, "near": {"1": near}}, reference, "en")
    again = {name: dict.fromkeys("123", lines) for name, lines in (("base", base), ("near", near))}
    thrice = pooled_bootstrap(again, reference, "en")
    assert 0.01 < once[1].p_value == thrice[1].p_value
    assert thrice[1].interval == pytest.approx(once[1].interval)


def test_runs_of_one_system_differ_in_their_seed_alone():
    labels = ["a-tiny-s1", "a-tiny-s2", "a-tiny-s1, decoder aux:1", "a-s", "b", "a-tiny-s10"]
    assert by_row(labels, over_seeds=True) == {
        "a-tiny": ["a-tiny-s1", "a-tiny-s2", "a-tiny-s10"],
        "a-tiny, decoder aux:1": ["a-tiny-s1, decoder aux:1"],
        "a-s": ["a-s"],
        "b": ["b"],
    }
    assert [seed_of(label) for label in labels] == ["1", "2", "1", "", "", "10"]
