"""Labels of runs of one system with several seeds."""

from dc_nmt_plugin.evaluation.seeds import by_row, seed_of


def test_runs_of_one_system_differ_in_their_seed_alone():
    labels = ["a-tiny-s1", "a-tiny-s2", "a-tiny-s1, decoder aux:1", "a-s", "b", "a-tiny-s10"]
    assert by_row(labels, over_seeds=True) == {
        "a-tiny": ["a-tiny-s1", "a-tiny-s2", "a-tiny-s10"],
        "a-tiny, decoder aux:1": ["a-tiny-s1, decoder aux:1"],
        "a-s": ["a-s"],
        "b": ["b"],
    }
    assert [seed_of(label) for label in labels] == ["1", "2", "1", "", "", "10"]
