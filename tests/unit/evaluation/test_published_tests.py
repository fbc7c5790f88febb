"""The t-test and the samples of 1,000 pairs that single papers name."""

from __future__ import annotations

import pytest
from scipy.stats import ttest_rel

from dc_nmt_plugin.evaluation.comparemt import sampled_tests
from dc_nmt_plugin.evaluation.metrics import METRICS
from dc_nmt_plugin.evaluation.t_test import t_tests

REFERENCES = [f"the cat number {n} sits on the mat of house {n % 7} today" for n in range(40)]
WORSE = [line.replace("sits on", "lies at") if n % 2 else line for n, line in enumerate(REFERENCES)]
BAD = [line.replace("the mat", "a rug") if n % 3 else line for n, line in enumerate(WORSE)]


def test_the_t_test_is_one_tailed():
    systems = {"base": BAD, "ours": WORSE, "same": BAD, "oracle": REFERENCES}
    ours, same, oracle = t_tests(systems, REFERENCES, "en", METRICS["mteval-v13a"])
    assert ours.p_value < 0.01 and oracle.p_value < ours.p_value and ours.t > 0
    assert same.p_value == 0.5
    (back,) = t_tests({"base": WORSE, "ours": BAD}, REFERENCES, "en", METRICS["mteval-v13a"])
    assert back.p_value == pytest.approx(1 - ours.p_value) and back.t == pytest.approx(-ours.t)
    assert ttest_rel([2, 3, 5], [1, 3, 3], alternative="greater").pvalue < 0.15


def test_samples_of_a_given_size():
    systems = {"base": BAD, "ours": WORSE}
    (few,) = sampled_tests(systems, REFERENCES, 4, False, resamples=200)
    (many,) = sampled_tests(systems, REFERENCES, 400, False, resamples=200)
    assert (many.left, many.right) == ("base", "ours")
    assert many.right_wins >= few.right_wins and many.p_value <= few.p_value
    assert many.right_wins == 1
