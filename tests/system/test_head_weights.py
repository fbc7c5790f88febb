"""``dc-nmt head-weights`` on trained models."""

from __future__ import annotations

import json
import math

import pytest
import torch
from commands import ROOT

from dc_nmt_plugin.analysis.head_weights import joined_sentences
from dc_nmt_plugin.cli import main
from dc_nmt_plugin.errors import UserError

EOS = 2


def test_sentences_are_joined_to_an_exact_length():
    sentences = [torch.tensor([5, 6, EOS]), torch.tensor([7, EOS]), torch.tensor([8, 9, EOS])]
    assert joined_sentences(sentences, 3, EOS).tolist() == [[5, 6, EOS], [7, 8, EOS]]
    assert joined_sentences(sentences, 3, EOS, rows=1).tolist() == [[5, 6, EOS]]
    with pytest.raises(UserError, match="--lengths: 7 is more than the 6 tokens of the data"):
        joined_sentences(sentences, 7, EOS)


def test_each_layer_of_a_trained_model_has_its_entropies(corpus, trained, bare, tmp_path):
    path = trained("transformer_cross_agg") / "checkpoint_last.pt"
    # a process of its own, in which nothing of this package is registered yet
    flags = ["head-weights", "--path", path, "--data", corpus, "--json"]
    program = "import sys; from dc_nmt_plugin.cli import main; sys.exit(main())"
    done = bare.run(program, *flags, folder=tmp_path, path=[ROOT]).good()
    rows = json.loads(done.output[done.output.index("[") :])
    assert [(row["name"], row["head_weights"]) for row in rows] == [
        ("encoder_1", "mean"),
        ("encoder_2", "mean"),
        ("encoder_1", "sum (not as trained)"),
        ("encoder_2", "sum (not as trained)"),
    ]
    for row in rows:
        assert row["maximum"] == math.log(2)
        assert list(row["entropy"]) == ["10", "30", "100"]
        assert all(0 <= value <= math.log(2) + 1e-6 for value in row["entropy"].values())
    (mean, _, total, _) = rows
    assert total["entropy"]["100"] < mean["entropy"]["100"]


def test_what_cannot_be_measured_is_said(corpus, trained, capsys):
    path = str(trained("transformer_dc") / "checkpoint_last.pt")
    for arguments, text in (
        (["--path", path, "--data", str(corpus)], "has no head weights of cross aggregation"),
        (["--path", path], "--path, --data: only one of them"),
        (["--lengths", "1"], "--lengths: 1 is not at least 2"),
    ):
        assert main(["head-weights", *arguments]) == 1
        assert text in capsys.readouterr().err
