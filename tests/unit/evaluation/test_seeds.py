"""Labels of runs of one system with several seeds."""

from dc_nmt_plugin.evaluation.seeds import by_row, system_of


def test_runs_of_one_system_differ_in_their_seed_alone():
    labels = {"a-s1": 1, "a-s2": 2, "old/a-s1": 1, "a-s": None, "b-s2": 3, "a-s10": 10}
    rows = {label: system_of(label, seed) for label, seed in labels.items()}
    assert by_row(rows, over_seeds=True) == {
        "a": ["a-s1", "a-s2", "a-s10"],
        "old/a": ["old/a-s1"],
        "a-s": ["a-s"],
        "b-s2": ["b-s2"],  # a name that only looks like one with a seed
    }
    assert by_row(rows, over_seeds=False) == {label: [label] for label in labels}
