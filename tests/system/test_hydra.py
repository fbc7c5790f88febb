"""``fairseq-hydra-train`` trains as ``fairseq-train`` does."""

from __future__ import annotations

import torch
from commands import run
from systems import hydra, load, training

from dc_nmt_plugin.runs.record import read_record

FLAGS = ["--arch", "transformer_ms_aux", "--task", "transformer_ms_aux", "--max-update", 3]


def test_both_programs_reach_the_same_parameters(corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("DC_NMT_BFLOAT16", "1")
    hydra(corpus, tmp_path, "common.amp=true").good()
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
