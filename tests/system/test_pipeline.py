"""Checkpoints travel through every command, always through torch's safe loader."""

from __future__ import annotations

import re

import pytest
import torch
from commands import ROOT, run
from systems import FAMILIES, SOURCE, SPLITS, TARGET, generation, train, training

from dc_nmt_plugin.models.transformer.model import TransformerModel

ARCH = "transformer_dc"


def test_train_resume_validate_generate_interactive_from_pretrained(corpus, tmp_path):
    save, last = tmp_path / "save", tmp_path / "save" / "checkpoint_last.pt"
    train(corpus, save, ARCH, "--max-epoch", 1).good()
    resumed = train(corpus, save, ARCH, "--max-epoch", 2).good()
    assert "Loaded checkpoint" in resumed.output
    state = torch.load(last, weights_only=True)
    assert state["extra_state"]["train_iterator"]["epoch"] == 3

    task, criterion = FAMILIES[ARCH]
    validated = run(
        tmp_path,
        "validate",
        *(corpus, "--path", last, "--task", task, "--criterion", criterion),
        *("--label-smoothing", 0.1, "--max-tokens", 80, "--log-format", "json", "--cpu"),
    ).good()
    trainings_loss = resumed.logged("valid_loss")[-1]
    assert validated.logged("valid_loss")[-1] == pytest.approx(trainings_loss, abs=2e-3)

    generated = run(tmp_path, "generate", *generation(corpus, last, ARCH)).good()
    hypotheses = generated.hypotheses()
    assert sorted(hypotheses) == list(range(SPLITS["test"]))

    lines = (corpus.parent / "text" / f"test.{SOURCE}").read_text().splitlines()
    source = tmp_path / "input"
    source.write_text("".join(f"{line}\n" for line in lines[:7]))
    interactive = run(
        tmp_path,
        "interactive",
        *generation(corpus, last, ARCH, "--input", source, "--buffer-size", 3),
    ).good()
    typed = interactive.hypotheses()
    assert [text for _, text in typed.values()] == [hypotheses[i][1] for i in range(7)]

    loaded = TransformerModel.from_pretrained(
        str(save), "checkpoint_last.pt", str(corpus), source_lang=SOURCE, target_lang=TARGET
    )
    assert loaded.translate(lines[:7], beam=5, max_len_b=12) == [hypotheses[i][1] for i in range(7)]


def test_starts_from_a_stock_checkpoint(corpus, tmp_path):
    """--finetune-from-model takes a checkpoint of fairseq's own transformer."""
    stock, ours = tmp_path / "stock", tmp_path / "ours"
    plain = ["--arch", "transformer", "--share-all-embeddings", "--criterion"]
    flags = training(corpus, stock, *plain, "label_smoothed_cross_entropy", "--max-update", 3)
    trained_stock = run(tmp_path, "train", *flags, "--task", "translation").good()
    start = ["--finetune-from-model", stock / "checkpoint_last.pt", "--lr", 0.0]
    tuned = train(corpus, ours, "transformer_standard", *start, "--max-update", 1).good()
    assert "loading pretrained model" in tuned.output
    losses = [log.logged("valid_loss")[-1] for log in (trained_stock, tuned)]
    assert losses[0] == pytest.approx(losses[1], abs=2e-3)


def test_the_safe_loader_is_never_switched_off():
    """Neither in Python nor in shell code of the project."""
    files = [
        path
        for folder in ("dc_nmt_plugin", "scripts", "examples")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".sh")
    ]
    assert len(files) > 50
    switched_off = re.compile(r"weights_only\s*=\s*False|NO_WEIGHTS_ONLY_LOAD")
    found = [path for path in files if switched_off.search(path.read_text(encoding="utf-8"))]
    # which takes torch's switch away while it loads, and puts back what the user had
    assert found == [ROOT / "dc_nmt_plugin" / "compat" / "loading.py"]
