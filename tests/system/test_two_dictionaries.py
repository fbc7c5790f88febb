"""Embeddings of their own for an architecture that shares them: two dictionaries."""

from __future__ import annotations

import pytest
import torch
from commands import assert_explained, run
from systems import SOURCE, TARGET, family, generation, load, training, write_text

ARCH = "transformer_dc_iwslt"
NAMES = ["--arch", ARCH, *family("transformer_dc")[2:]]


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """Binarised text with a dictionary for each side."""
    folder = tmp_path_factory.mktemp("apart")
    write_text(folder / "text", {"train": 20, "valid": 3, "test": 4})
    prefixes = [(f"--{name}pref", folder / "text" / name) for name in ("train", "valid", "test")]
    words = ["--source-lang", SOURCE, "--target-lang", TARGET, "--destdir", folder / "data"]
    run(folder, "preprocess", *words, *(word for pair in prefixes for word in pair)).good()
    return folder / "data"


def assert_apart(save):
    weights = load(save)["model"]
    source, target = (weights[f"{side}.embedding.tokens.weight"] for side in ("encoder", "decoder"))
    assert source.shape != target.shape or not torch.equal(source, target)
    return weights


def test_fairseq_train_and_generate(apart, tmp_path):
    words = training(apart, tmp_path, *NAMES, "--max-update", 2)
    assert_explained(run(tmp_path, "train", *words), "--no-share-all-embeddings")
    words += ["--no-share-all-embeddings", "--share-decoder-input-output-embed"]
    run(tmp_path, "train", *words).good()
    names = assert_apart(tmp_path)
    checkpoint = tmp_path / "checkpoint_last.pt"
    # the checkpoint's settings win over the architecture's when it is loaded, and continued
    decoded = run(tmp_path, "generate", *generation(apart, checkpoint, "transformer_dc")).good()
    assert len(decoded.hypotheses()) == 4
    run(tmp_path, "train", *words, "--max-update", 3).good()
    assert names.keys() == load(tmp_path)["model"].keys()
