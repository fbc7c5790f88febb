"""The settings in which two runs differ, by one list for seeds, published numbers, continuing."""

from __future__ import annotations

import pytest

from dc_nmt_plugin.laboratory.evaluation.conditions import full_search
from dc_nmt_plugin.runs.differences import (
    NOT_GIVEN,
    NOT_PRINTED,
    OF_ONE_SYSTEM,
    TOKENS,
    WHILE_CONTINUING,
    compared,
    differing,
)


@pytest.mark.parametrize(
    ("flags", "may_differ"),
    [
        # where and how fast the same numbers are computed
        ({"no-progress-bar": True, "log-file": "x", "wandb-project": "x"}, "seeds paper"),
        (
            {"distributed-port": 1, "num-workers": 2, "batch-size-valid": 3},
            "seeds paper continuing",
        ),
        ({"checkpoint-activations": True, "xagg-checkpoint": True}, "seeds paper continuing"),
        # other checkpoints are averaged, which papers do not print
        ({"save-interval-updates": 500, "validate-interval": 2, "keep-last-epochs": 3}, "paper"),
        # how parameters are found, not what they compute
        ({"dropout": 0.3, "aux-weight": 0.5, "weight-init": "x"}, "continuing"),
        ({"encoder-embed-path": "x", "max-source-positions": 512}, "continuing"),
        ({"encoder-layers": 3, "source-features": "m-10", "lr": 1}, ""),
    ],
)
def test_what_may_differ_for_each_question(flags, may_differ):
    kinds = {"seeds": OF_ONE_SYSTEM, "paper": NOT_PRINTED, "continuing": WHILE_CONTINUING}
    for question, ignored in kinds.items():
        expected = {} if question in may_differ else flags
        assert compared(flags, ignored) == expected, question


def test_equal_values_of_two_forms_do_not_differ():
    one = {"lr": 1e-9, "adam-betas": "(0.9,0.98)", "amp": True, TOKENS: 25000, "text": None}
    other = {"lr": "1e-09", "adam-betas": "(0.9, 0.98)", "amp": "", TOKENS: 24999, "text": "a"}
    assert list(differing(one, other)) == []
    assert list(differing({"a": 1, TOKENS: 4960}, {TOKENS: 4800, "b": "x"})) == [
        ("a", 1, NOT_GIVEN), (TOKENS, 4960, 4800), ("b", NOT_GIVEN, "x"),
    ]  # fmt: skip


def test_a_search_has_the_values_of_fairseq_where_it_names_none():
    assert list(differing(full_search({"beam": 5}), full_search({"lenpen": 1.0}))) == []
    assert list(differing(full_search({}), full_search({"beam": 4}))) == []  # unknown
    wu, plain = full_search({"length-penalty": "wu"}), full_search({"beam": 4})
    assert [setting.name for setting in differing(wu, plain)] == ["--beam", "--length-penalty"]
