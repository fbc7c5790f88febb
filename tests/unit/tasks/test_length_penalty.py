"""Wu's length penalty in fairseq's expression."""

from dc_nmt_plugin.tasks.decoding import WuLengthPenalty


def test_the_penalty_is_wus():
    assert 7 ** WuLengthPenalty(2.0) == 4.0
