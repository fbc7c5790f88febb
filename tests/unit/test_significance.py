"""The paired bootstrap sees a clear difference, and none between equals."""

import random

from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

from dc_nmt_plugin.evaluation.metrics import METRICS
from dc_nmt_plugin.evaluation.significance import format_comparisons, paired_bootstrap


def spoil(lines, share, seed):
    chooser = random.Random(seed)
    return [
        " ".join("x" if chooser.random() < share else word for word in line.split())
        for line in lines
    ]


def test_clear_and_absent_differences():
    chooser = random.Random(1)
    words = ["the", "a", "house", "tree", "river", "green", "old", "walks", "sees", "of", "in"]
    reference = [" ".join(chooser.choices(words, k=12)) for _ in range(120)]
    systems = {
        "baseline": spoil(reference, 0.2, 2),
        "same": spoil(reference, 0.2, 2),
        "better": spoil(reference, 0.1, 3),
        "worse": spoil(reference, 0.4, 4),
    }
    baseline, same, better, worse = paired_bootstrap(systems, reference, "en")
    assert baseline.name == "baseline" and baseline.p_value is None and not baseline.significant
    assert better.score == baseline.score + better.difference and baseline.interval > 0
    assert same.difference == 0 and not same.significant
    assert better.difference > 5 and better.significant
    assert worse.difference < -5 and worse.significant
    text = format_comparisons([baseline, same, better, worse])
    assert text.count("*") == 2 and "against baseline" in text
    again = paired_bootstrap(systems, reference, "en")
    assert again == [baseline, same, better, worse]


def test_different_texts_of_one_score_do_not_differ():
    reference = ["a b c d e"] * 5
    systems = {"one": ["x y z"] * 5, "two": ["v w"] * 5}
    one, two = paired_bootstrap(systems, reference, "en", METRICS["multi-bleu"])
    assert (one.score, two.score, two.difference) == (0, 0, 0)
    assert two.p_value == 1 and not two.significant


def test_it_is_the_test_of_sacrebleu_itself():
    """Figures of ``sacrebleu REF -i BASE SYS --paired-bs``, and of its library."""
    chooser = random.Random(5)
    reference = [
        " ".join(chooser.choices(["the", "a", "house", "tree", "walks"], k=9)) for _ in range(50)
    ]
    systems = [("one", spoil(reference, 0.2, 2)), ("two", spoil(reference, 0.25, 3))]
    for name, metric in (("multi-bleu-lc", BLEU(lowercase=True, tokenize="none",
                          smooth_method="none")), ("chrf", CHRF()), ("ter", TER())):  # fmt: skip
        ours = paired_bootstrap(dict(systems), reference, "en", METRICS[name])
        _, scores = PairedTest(systems, {"m": metric}, [reference], "bs", 1000)()
        theirs = scores[next(key for key in scores if key != "System")]
        assert [(c.score, c.interval) for c in ours] == [(r.score, r.ci) for r in theirs]
        assert ours[1].p_value == theirs[1].p_value
        assert 0.0009 < ours[1].p_value < 1
