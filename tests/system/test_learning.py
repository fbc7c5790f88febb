"""Whole systems learn a made-up language (every word spelled backwards, the last one first)."""

from __future__ import annotations

import re

import pytest
from commands import run
from helpers import few
from systems import binarise, generation, train

# A model that cannot see the source, or sees it without its order, stays far below this.
BOUND = 80.0
UPDATES = 250


@pytest.fixture(scope="module")
def language(tmp_path_factory):
    """1000 sentences of two to four words, none of whose translations is a copy."""
    folder = tmp_path_factory.mktemp("language")
    return binarise(folder, {"train": 1000, "valid": 10, "test": 100}, longest=4)


def size(layers):
    flags = ["--dropout", 0]
    for side in ("encoder", "decoder"):
        flags += [f"--{side}-embed-dim", 48, f"--{side}-ffn-embed-dim", 96]
        flags += [f"--{side}-attention-heads", 4, f"--{side}-layers", layers]
    return flags


def bleu(result):
    return float(re.search(r"BLEU4? = ([\d.]+)", result.good().output)[1])


# architecture, layers, decoders to translate with
LEARNERS = [("transformer_dc", 1, [None]), ("transformer_ms_aux_aif", 2, ["main", "aux:1"])]


@pytest.mark.parametrize(("arch", "layers", "decoders"), few(LEARNERS, LEARNERS[0]))
def test_learns_to_translate(arch, layers, decoders, language, tmp_path):
    flags = [*size(layers), "--max-tokens", 400, "--max-update", UPDATES, "--lr", 0.006]
    flags += ["--lr-scheduler", "polynomial_decay", "--total-num-update", UPDATES]
    flags += ["--warmup-updates", 40, "--adam-betas", "(0.9,0.98)"]
    flags += ["--disable-validation", "--no-epoch-checkpoints", "--log-interval", 100]
    train(language, tmp_path, arch, *flags).good()
    for decoder in decoders:
        choice = ["--decode-with", decoder] if decoder else []
        command = generation(language, tmp_path / "checkpoint_last.pt", arch, *choice)
        assert bleu(run(tmp_path, "generate", *command)) > BOUND, decoder
