"""``fairseq-hydra-train`` trains as ``fairseq-train`` does."""

from __future__ import annotations

import torch
import yaml
from commands import ROOT, run
from systems import load, training

from dc_nmt_plugin import machine
from dc_nmt_plugin.runs.record import read_record

SMALL = {"encoder_layers": 2, "decoder_layers": 1, "dropout": 0.1}
for side in ("encoder", "decoder"):
    SMALL |= {f"{side}_embed_dim": 8, f"{side}_ffn_embed_dim": 12, f"{side}_attention_heads": 2}
FLAGS = ["--arch", "transformer_ms_aux", "--task", "transformer_ms_aux", "--max-update", 3]


def settings(folder, corpus):
    """Group → its settings, ``_name`` among them where a name chooses a class."""
    name = "transformer_ms_aux"
    return {
        "common": {"user_dir": str(ROOT / "dc_nmt_plugin"), "cpu": True, "seed": 5},
        "task": {"_name": name, "data": str(corpus)},
        "model": {"_name": name, **SMALL},
        "criterion": {"_name": name, "label_smoothing": 0.1},
        "optimizer": {"_name": "adam"},
        "lr_scheduler": {"_name": "fixed"},
        "dataset": {"max_tokens": 80, "num_workers": 0, "disable_validation": True},
        "optimization": {"max_update": 3, "lr": [0.01]},
        "checkpoint": {"save_dir": str(folder / "save")},
    }


def hydra(folder, *words):
    return run(folder, "hydra-train", *words, f"hydra.run.dir={folder}")


def test_both_programs_reach_the_same_parameters(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "multiplies_bfloat16", lambda: True)
    text = yaml.safe_dump(settings(tmp_path, corpus))
    (tmp_path / "small.yaml").write_text(f"# @package _global_\n{text}")
    name = ["--config-dir", tmp_path, "--config-name", "small"]
    hydra(tmp_path, *name, "common.amp=true").good()
    words = training(corpus, tmp_path / "flags", *FLAGS, "--criterion", "transformer_ms_aux")
    done = run(tmp_path, "train", *words, "--disable-validation", "--amp").good()
    assert "multiply in bfloat16" in done.output
    for folder in ("save", "flags"):
        assert read_record(tmp_path / folder).settings["amp"]
    ours, theirs = load(tmp_path / "save"), load(tmp_path / "flags")
    assert ours["optimizer_history"][-1]["num_updates"] == 3
    hydras, flags = (read_record(tmp_path / name) for name in ("save", "flags"))
    assert hydras.settings["encoder-layers"] == 2 and hydras.settings["max-update"] == 3
    assert not {"common", "handlers"} & hydras.settings.keys()  # neither groups nor log files
    assert hydras.training.updates == 3 and flags.settings["lr"] == 0.01
    for name in ("architecture", "data", "seed"):
        assert getattr(hydras, name) == getattr(flags, name), name
    for name, parameter in theirs["model"].items():
        assert torch.equal(ours["model"][name], parameter), name
