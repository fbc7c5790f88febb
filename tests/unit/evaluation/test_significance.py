"""Systems compared with a baseline: clear differences are seen, none between equals."""

import random
import statistics

import pytest
from records import WORDS, spoil
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

from dc_nmt_plugin.laboratory.evaluation.chance import holm
from dc_nmt_plugin.laboratory.evaluation.metrics import METRICS
from dc_nmt_plugin.laboratory.evaluation.significance import compare_systems, paired_bootstrap
from dc_nmt_plugin.laboratory.evaluation.table_text import comparison_table, difference_notes
from dc_nmt_plugin.laboratory.table import TEXT

SACREBLEU = METRICS["sacrebleu"]


def text(seed, lines):
    chooser = random.Random(seed)
    return [" ".join(chooser.choices(WORDS, k=12)) for _ in range(lines)]


def format_comparisons(comparisons, metric="BLEU"):
    baseline, *others = comparisons
    notes = difference_notes({c.name: c.against for c in others}, baseline.name, metric)
    return "\n".join([comparison_table(comparisons, metric).written(TEXT, None), "", *notes])


@pytest.fixture(scope="module")
def reference():
    return text(1, 80)


def test_clear_and_absent_differences():
    reference = text(1, 120)
    systems = {
        "baseline": spoil(reference, 0.2, 2),
        "same": spoil(reference, 0.2, 2),
        "better": spoil(reference, 0.1, 3),
        "worse": spoil(reference, 0.4, 4),
    }
    baseline, same, better, worse = paired_bootstrap(systems, reference, "en", SACREBLEU)
    assert baseline.name == "baseline" and baseline.against is None and baseline.interval > 0
    assert same.difference == 0 and same.against.p_value == same.corrected_p == 1
    assert better.score == pytest.approx(baseline.score + better.difference)
    assert better.difference > 5 and better.corrected_p < 0.01
    assert 0 < better.against.interval[0] < better.difference < better.against.interval[1]
    assert worse.difference < -5 and worse.corrected_p < 0.01
    p_values = [c.against.p_value for c in (same, better, worse)]
    assert [c.corrected_p for c in (same, better, worse)] == holm(p_values)
    printed = format_comparisons([baseline, same, better, worse])
    assert printed.count("**") == 3 and "** p < 0.01, two-sided after Holm's" in printed
    assert "interval and p do not include variation between training seeds" in printed
    again = paired_bootstrap(systems, reference, "en", SACREBLEU)
    assert again == [baseline, same, better, worse]
    alone = format_comparisons([baseline, better])
    assert "Holm" not in alone and "two-sided" in alone


@pytest.mark.parametrize(("metric", "tested"), [("multi-bleu", False), ("chrf", True)])
def test_scores_without_n_grams_are_not_tested(metric, tested):
    """BLEU 0.48 against 0.50 had two stars."""
    reference = text(1, 75)
    worse, bad = (spoil(reference, share, 5) for share in (0.9, 0.85))
    systems = {"base": bad, "worse": worse, "good": spoil(reference, 0.1, 3)}
    _, low, good = paired_bootstrap(systems, reference, "en", METRICS[metric])
    assert (low.against is not None) == tested and low.difference <= 0
    assert good.corrected_p < 0.01
    printed = format_comparisons(paired_bootstrap(systems, reference, "en", METRICS[metric]))
    assert ("worse: no p, because there are fewer than 10 sentences" in printed) != tested


def test_scores_and_intervals_are_those_of_sacrebleu():
    """Figures of ``sacrebleu REF -i BASE SYS --paired-bs``, and of its library."""
    reference = text(5, 50)
    systems = [("one", spoil(reference, 0.2, 2)), ("two", spoil(reference, 0.23, 3))]
    for name, metric in (("multi-bleu-lc", BLEU(lowercase=True, tokenize="none",
                          smooth_method="none")), ("chrf", CHRF()), ("ter", TER())):  # fmt: skip
        ours = paired_bootstrap(dict(systems), reference, "en", METRICS[name])
        _, scores = PairedTest(systems, {"m": metric}, [reference], "bs", 1000)()
        expected = scores[next(key for key in scores if key != "System")]
        assert [c.score for c in ours] == [r.score for r in expected]
        assert [c.interval for c in ours] == pytest.approx([r.ci for r in expected])
        assert 0.0009 < expected[1].p_value < 0.6 * ours[1].against.p_value


# -- several seeds -----------------------------------------------------------------------------


def test_scores_are_means_and_the_deviation_is_that_of_the_seeds(reference):
    metric = METRICS["multi-bleu"]
    base = {str(seed): spoil(reference, 0.2, seed) for seed in (2, 3, 4)}
    ours = {str(seed): spoil(reference, 0.3, seed) for seed in (5, 6)}
    first, second = compare_systems({"base": base, "ours": ours}, reference, "en", metric)
    scores = [
        [metric.score(lines, reference, "en")[0] for lines in runs.values()]
        for runs in (base, ours)
    ]
    assert first.score == pytest.approx(statistics.fmean(scores[0]))
    assert second.score == pytest.approx(statistics.fmean(scores[1]))
    assert second.deviation == pytest.approx(statistics.stdev(scores[1]))
    assert second.difference == pytest.approx(second.score - first.score)
    assert first.seeds is None and second.seeds == ()


def test_a_difference_is_of_the_seeds_that_both_have(reference):
    """Otherwise a baseline's seed that the system lacks passes for the system's gain."""
    base = {"1": spoil(reference, 0.1, 1), "2": spoil(reference, 0.3, 2)}
    ours = {"2": spoil(reference, 0.28, 3), "4": spoil(reference, 0.1, 4)}
    _, both = compare_systems({"base": base, "ours": ours}, reference, "en", SACREBLEU)
    alone = {"base": base["2"], "ours": ours["2"]}
    _, single = paired_bootstrap(alone, reference, "en", SACREBLEU)
    assert both.seeds == ("2",) and single.seeds is None
    assert single.against.p_value < both.against.p_value
    assert both.difference == pytest.approx(single.difference)
    assert both.score > single.score  # the mean of all its seeds


def test_the_same_runs_again_are_no_new_evidence(reference):
    """Three equal seeds say as much as one: the sentences are what is resampled."""
    base, near = spoil(reference, 0.2, 2), spoil(reference, 0.23, 3)
    _, once = compare_systems(
        {"base": {"1": base}, "near": {"1": near}}, reference, "en", SACREBLEU
    )
    again = {name: dict.fromkeys("123", lines) for name, lines in (("base", base), ("near", near))}
    _, thrice = compare_systems(again, reference, "en", SACREBLEU)
    assert once.against.p_value > 0.01
    assert thrice.against.p_value == pytest.approx(once.against.p_value, abs=0.02)
    assert thrice.against.standard_error == pytest.approx(once.against.standard_error)
