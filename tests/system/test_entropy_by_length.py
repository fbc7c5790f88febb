"""``dc-nmt analyze routing --lengths`` on trained models."""

from __future__ import annotations

import json
import math

import pytest
import torch
from commands import ROOT
from fairseq import checkpoint_utils

from dc_nmt_plugin.analysis.entropy_by_length import joined_sentences
from dc_nmt_plugin.cli import main
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.modules.core.recording import recording

EOS = 2
LENGTHS = ["10", "30", "100"]


def test_sentences_are_joined_to_an_exact_length():
    sentences = [torch.tensor([5, 6, EOS]), torch.tensor([7, EOS]), torch.tensor([8, 9, EOS])]
    assert joined_sentences(sentences, 3, EOS).tolist() == [[5, 6, EOS], [7, 8, EOS]]
    assert joined_sentences(sentences, 3, EOS, rows=1).tolist() == [[5, 6, EOS]]
    with pytest.raises(UserError, match="--lengths: 7 is more than the 6 tokens of the data"):
        joined_sentences(sentences, 7, EOS)


def test_each_layer_of_a_trained_model_has_its_entropies(corpus, trained, bare, tmp_path):
    path = trained("transformer_cross_agg") / "checkpoint_last.pt"
    # a process of its own, in which nothing of this package is registered yet
    flags = ["analyze", "routing", path, "--data", corpus, "--cpu", "--lengths", *LENGTHS, "--json"]
    program = "import sys; from dc_nmt_plugin.cli import main; sys.exit(main())"
    done = bare.run(program, *flags, folder=tmp_path, path=[ROOT]).good()
    (found,) = json.loads(done.output[done.output.index("{") :])["runs"].values()
    rows = found["joined"]
    assert [(row["layer"], row["head_weights"], row["trained"]) for row in rows] == [
        *((1, "mean", True), (2, "mean", True), (1, "sum", False), (2, "sum", False)),
        *(("untrained", "mean", False), ("untrained", "sum", False)),
    ]
    for row in rows:
        assert list(row["entropy"]) == LENGTHS
        assert all(0 <= value <= math.log(2) + 1e-6 for value in row["entropy"].values())
    (mean, _, total, _, initial_mean, initial_total) = rows
    assert total["entropy"]["100"] < mean["entropy"]["100"]
    assert initial_total["entropy"]["100"] < initial_mean["entropy"]["100"]
    assert mean["entropy"]["10"] == pytest.approx(by_hand(path, corpus, 10), rel=1e-4)


def by_hand(path, data, length):
    """The mean entropy of the first layer, from the recorded Λ."""
    (model,), _, task = checkpoint_utils.load_model_ensemble_and_task(
        [str(path)], arg_overrides={"data": str(data)}
    )
    task.load_dataset("test")
    words = [int(w) for sentence in task.dataset("test").src for w in sentence if w != EOS]
    rows = [words[start : start + length - 1] for start in range(0, len(words), length - 1)]
    tokens = torch.tensor([[*row, EOS] for row in rows if len(row) == length - 1][:50])
    with torch.no_grad(), recording(model.eval()) as records:
        model.encoder(tokens, torch.full((len(tokens),), length))
    weights = records["encoder.stack.layers.0.self_attn"]["head_weights"].tolist()
    return -sum(w * math.log(w) for row in weights for w in row) / len(weights)


def test_they_are_a_table_too(corpus, trained, capsys):
    path = trained("transformer_cross_agg") / "checkpoint_last.pt"
    words = ["analyze", "routing", path, "--data", corpus, "--cpu", "--names", "tiny", "--lengths"]
    assert main([*map(str, words), "10"]) == 0
    rows = capsys.readouterr().out.split("joined and truncated to a length")[1].splitlines()
    assert [row.split()[1:3] for row in rows if row.startswith("tiny")] == [
        *(["1", "mean"], ["2", "mean"], ["1", "sum"], ["2", "sum"]),
        *(["untrained", "mean"], ["untrained", "sum"]),
    ]
    assert sum("sum (not as trained)" in row for row in rows) == 2


def test_what_cannot_be_measured_is_said(corpus, trained, capsys):
    routing, other = (
        str(trained(arch) / "checkpoint_last.pt")
        for arch in ("transformer_cross_agg", "transformer_dc")
    )
    for path, lengths, status, text in (
        (other, ["10"], 1, "has no cross aggregation that routes"),
        (routing, ["30", "1"], 2, "--lengths: 1 is not at least 2"),
        (routing, ["100000"], 2, "--lengths: 100000 is more than the"),
    ):
        words = ["analyze", "routing", path, "--data", str(corpus), "--cpu", "--lengths", *lengths]
        assert main(words) == status
        assert text in capsys.readouterr().err
