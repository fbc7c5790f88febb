"""On a GPU: every kind trains, is resumed and translates, by fairseq's own programs."""

from __future__ import annotations

import pytest
import torch
from commands import ROOT, real
from helpers import few
from systems import (
    FAMILIES,
    RECURRENT,
    family,
    generation,
    recurrent_generation,
    recurrent_training,
    training,
)

if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

PRECISIONS = ("", "--fp16", "--bf16", "--amp", "--memory-efficient-fp16")
KINDS = (*FAMILIES, RECURRENT)
CASES = [(kind, precision) for kind in KINDS for precision in PRECISIONS]
USER_DIR = ["--user-dir", ROOT / "dc_nmt_plugin"]


def on_gpu(words):
    return [word for word in words if word != "--cpu"]


@pytest.mark.parametrize(
    ("kind", "precision"),
    few(CASES, *((kind, "--fp16") for kind in KINDS), *((KINDS[1], each) for each in PRECISIONS)),
)
def test_every_kind_in_every_precision(kind, precision, corpus, tmp_path):
    def train(updates):
        changes = [*precision.split(), "--max-update", updates, "--log-interval", 1]
        words = (
            recurrent_training(corpus, tmp_path, "", "--optimizer", "adam", "--lr", 0.01, *changes)
            if kind == RECURRENT
            else training(corpus, tmp_path, *family(kind), *changes)
        )
        return real("fairseq-train", *on_gpu(words), *USER_DIR, folder=tmp_path).good()

    first, more = train(8), train(12)
    losses = [*first.logged("loss"), *more.logged("loss")]
    assert losses[-1] < losses[0]
    assert more.logged("num_updates")[-1] == 12
    last = tmp_path / "checkpoint_last.pt"
    words = (
        recurrent_generation(corpus, last) if kind == RECURRENT else generation(corpus, last, kind)
    )
    half = [precision] if precision in ("--fp16", "--bf16") else []
    words = [*on_gpu(words), "--gen-subset", "test1", *half, *USER_DIR]
    found = real("fairseq-generate", *words, folder=tmp_path).good().hypotheses()
    assert len(found) == 5 and all(score < 0 for score, _ in found.values())


@pytest.mark.parametrize("kind", FAMILIES)
def test_graphs_train_as_well(kind, corpus, tmp_path):
    """The losses are the same, though batches are padded."""
    losses = []
    for flags in ([], ["--cuda-graphs"]):
        save = tmp_path / str(flags)
        plain = ["--bf16", "--dropout", 0, "--max-update", 20, "--log-interval", 5, *flags]
        words = [*on_gpu(training(corpus, save, *family(kind), *plain)), *USER_DIR]
        losses.append(real("fairseq-train", *words, folder=tmp_path).good().logged("loss"))
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    assert losses[1][-1] < losses[1][0]
