"""``fairseq-hydra-train`` trains as ``fairseq-train`` does."""

from __future__ import annotations

import pytest
import torch
import yaml
from commands import ROOT, run
from helpers import few
from systems import load, training

SMALL = {"encoder_layers": 2, "decoder_layers": 1, "dropout": 0.1}
for side in ("encoder", "decoder"):
    SMALL |= {f"{side}_embed_dim": 8, f"{side}_ffn_embed_dim": 12, f"{side}_attention_heads": 2}
FLAGS = ["--arch", "transformer_ms_aux", "--task", "transformer_ms_aux", "--max-update", 3]


def settings(folder, corpus, criterion):
    """Group → its settings, ``_name`` among them where a name chooses a class."""
    name = "transformer_ms_aux"
    smoothing = {} if criterion == "cross_entropy" else {"label_smoothing": 0.1}
    return {
        "common": {"user_dir": str(ROOT / "dc_nmt_plugin"), "cpu": True, "seed": 5},
        "task": {"_name": name, "data": str(corpus)},
        "model": {"_name": name, **SMALL},
        "criterion": {"_name": criterion, **smoothing},
        "optimizer": {"_name": "adam"},
        "lr_scheduler": {"_name": "fixed"},
        "dataset": {"max_tokens": 80, "num_workers": 0, "disable_validation": True},
        "optimization": {"max_update": 3, "lr": [0.01]},
        "checkpoint": {"save_dir": str(folder / "save")},
    }


def from_a_file(folder, corpus, criterion):
    text = yaml.safe_dump(settings(folder, corpus, criterion))
    (folder / "small.yaml").write_text(f"# @package _global_\n{text}")
    return hydra(folder, "--config-dir", folder, "--config-name", "small")


def from_the_command_line(folder, corpus, criterion):
    words = []
    for group, values in settings(folder, corpus, criterion).items():
        words += [f"{group}={values.pop('_name')}"] if "_name" in values else []
        words += [f"{group}.{name}={value}" for name, value in values.items()]
    return hydra(folder, *words)


def hydra(folder, *words):
    return run(folder, "hydra_train", *words, f"hydra.run.dir={folder}")


WAYS = {"file": from_a_file, "command line": from_the_command_line}


@pytest.mark.parametrize("way", few(WAYS, "file"))
def test_both_programs_reach_the_same_parameters(way, corpus, tmp_path):
    WAYS[way](tmp_path, corpus, "transformer_ms_aux").good()
    words = training(corpus, tmp_path / "flags", *FLAGS, "--criterion", "transformer_ms_aux")
    run(tmp_path, "train", *words, "--disable-validation").good()
    ours, theirs = load(tmp_path / "save"), load(tmp_path / "flags")
    assert ours["optimizer_history"][-1]["num_updates"] == 3
    for name, parameter in theirs["model"].items():
        assert torch.equal(ours["model"][name], parameter), name


@pytest.mark.parametrize(
    "criterion", few(["label_smoothed_cross_entropy", "cross_entropy"], "cross_entropy")
)
def test_a_criterion_that_ignores_auxiliary_decoders_is_refused(criterion, corpus, tmp_path):
    result = from_a_file(tmp_path, corpus, criterion)
    assert result.code != 0
    assert "ignores the auxiliary decoders" in result.output + result.errors
    assert not list(tmp_path.glob("save/checkpoint*.pt"))


@pytest.mark.parametrize("mine", [False, True])
def test_only_its_own_checkpoints_are_continued(mine, corpus, tmp_path):
    """Both architectures have parameters of the same names and shapes."""
    arch = "gru_selfattn_residual"
    chosen = arch if mine else f"{arch}_mean"
    common = [
        *(f"common.user_dir={ROOT / 'dc_nmt_plugin'}", "common.cpu=true", f"task.data={corpus}"),
        *(f"task={arch}", f"criterion={arch}", "optimizer=adam", "lr_scheduler=fixed"),
        *("dataset.max_tokens=80", "dataset.num_workers=0", "dataset.disable_validation=true"),
        *("model.embed_dim=8", "model.hidden_dim=10", f"checkpoint.save_dir={tmp_path / 'save'}"),
    ]
    first = f"model={arch}" if mine else f"model={arch}_baseline"
    hydra(tmp_path, *common, first, "optimization.max_update=1").good()
    result = hydra(tmp_path, *common, f"model={chosen}", "optimization.max_update=2")
    if mine:
        assert "Loaded checkpoint" in result.good().output
    else:
        assert result.code
        assert f"holds checkpoints of '{arch}_baseline'" in result.errors
