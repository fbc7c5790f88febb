"""Whole systems learn a made-up language (every word spelled backwards, the last one first)."""

from __future__ import annotations

import re

import pytest
from commands import run
from systems import binarise, generation, train

# A model that cannot see the source, or sees it without its order, stays far below this.
BOUND = 80.0
UPDATES = 250


@pytest.fixture(scope="module")
def language(tmp_path_factory):
    """1000 sentences of two to four words, none of whose translations is a copy."""
    folder = tmp_path_factory.mktemp("language")
    return binarise(folder, {"train": 1000, "valid": 10, "test": 100}, longest=4)


def test_learns_to_translate(language, tmp_path):
    flags = ["--dropout", 0, "--max-tokens", 400, "--max-update", UPDATES, "--lr", 0.006]
    for side in ("encoder", "decoder"):
        flags += [f"--{side}-embed-dim", 48, f"--{side}-ffn-embed-dim", 96]
        flags += [f"--{side}-attention-heads", 4, f"--{side}-layers", 1]
    flags += ["--lr-scheduler", "polynomial_decay", "--total-num-update", UPDATES]
    flags += ["--warmup-updates", 40, "--adam-betas", "(0.9,0.98)"]
    flags += ["--disable-validation", "--no-epoch-checkpoints", "--log-interval", 100]
    train(language, tmp_path, "transformer_dc", *flags).good()
    command = generation(language, tmp_path / "checkpoint_last.pt", "transformer_dc")
    result = run(tmp_path, "generate", *command).good()
    assert float(re.search(r"BLEU4? = ([\d.]+)", result.output)[1]) > BOUND
