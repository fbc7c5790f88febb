"""``gru_selfattn_residual`` through fairseq's commands, on one and on two processes."""

from __future__ import annotations

import pytest
import torch
from commands import run
from systems import SOURCE, TARGET, load, recurrent_training, write_text
from two_processes import train_on_two


@pytest.fixture(scope="module")
def ragged(tmp_path_factory):
    """Binarised text with empty translations: batches of nothing but targets of one token."""
    folder = tmp_path_factory.mktemp("ragged")
    text = folder / "text"
    write_text(text, {"train": 12, "valid": 2}, longest=4)
    path = text / f"train.{TARGET}"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n" * 4 + "".join(f"{line}\n" for line in lines[4:]), encoding="utf-8")
    languages = ["--source-lang", SOURCE, "--target-lang", TARGET, "--joined-dictionary"]
    prefixes = ["--trainpref", text / "train", "--validpref", text / "valid"]
    run(folder, "preprocess", *languages, *prefixes, "--destdir", folder / "data").good()
    return folder / "data"


# without dropout and with plain gradient descent, only the order of additions differs
EXACT = ["--dropout", 0, "--optimizer", "sgd", "--lr", 0.2, "--max-epoch", 1]
EXACT += ["--batch-size", 2, "--disable-validation"]


def test_two_processes_train_as_one(ragged, tmp_path):
    """fairseq's default backend waits for the gradient of every parameter, batch for batch."""
    words = recurrent_training(ragged, tmp_path / "alone", "memory", *EXACT, "--update-freq", 2)
    run(tmp_path, "train", *words).good()
    words = recurrent_training(ragged, tmp_path, "memory", *EXACT)
    first, _ = train_on_two(tmp_path, "pytorch_ddp", *words)
    assert "training on 2 devices" in first.output
    expected, state = load(tmp_path / "alone"), load(tmp_path)
    assert state["optimizer_history"][-1]["num_updates"] == 3
    for name, parameter in expected["model"].items():
        assert torch.allclose(state["model"][name], parameter, atol=1e-5, rtol=1e-4), name
