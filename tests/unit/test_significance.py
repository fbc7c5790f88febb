"""The paired bootstrap sees a clear difference, and none between equals."""

import random

from dc_nmt_plugin.report.significance import format_comparisons, paired_bootstrap


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
    same, better, worse = paired_bootstrap(systems, reference, "en")
    assert same.difference == 0 and not same.significant
    assert better.difference > 5 and better.significant
    assert worse.difference < -5 and worse.significant
    text = format_comparisons("baseline", [same, better, worse])
    assert text.count("*") == 2 and "against baseline" in text
    again = paired_bootstrap(systems, reference, "en")
    assert again == [same, better, worse]
    assert paired_bootstrap({"baseline": reference}, reference, "en") == []
