"""``fairseq-hydra-train`` trains as ``fairseq-train`` does, and refuses what that refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import yaml
from commands import ROOT, assert_explained, run
from helpers import few
from systems import load, training

from dc_nmt_plugin.errors import ConfigError
from dc_nmt_plugin.gate.groups import check_groups

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


FAILING = [
    ([], ["optimizer: none is chosen", "adam"]),
    (["optimizer=adam", "model.aux_layers='9'"], ["--aux-layers", "9"]),
    (["optimizer=adam", "model.encoder_self_attention_layers='1'"], ["standard", "layers: 1"]),
    (["optimizer=adam", "common.fp16=true"], ["common.fp16", "GPU", "float32"]),
    (["optimizer=adam", "dataset.max_tokens=-4"], ["dataset.max_tokens: -4"]),
    (
        ["optimizer=adam", "dataset.valid_subset=dev"],
        ["dataset.valid_subset dev", "no such"],
    ),
    (["optimizer=adam", "task.data=null"], ["task.data"]),
    (["optimizer=adam", "model.dc_kernel_size=5"], ["model.dc_kernel_size", "dual_context"]),
]


@pytest.mark.parametrize(
    ("words", "said"),
    few(FAILING, FAILING[0], FAILING[-1]),
    ids=[
        "no optimizer",
        "layers outside the model",
        "layers of nothing",
        "fp16 on a CPU",
        "no tokens",
        "no such subset",
        "no data",
        "a setting of another kind",
    ],
)
def test_what_fails_is_one_sentence(words, said, corpus, tmp_path):
    """Without Hydra's traceback and its advice to look at more of it."""
    given = [
        *(f"common.user_dir={ROOT / 'dc_nmt_plugin'}", "common.cpu=true", f"task.data={corpus}"),
        *("task=transformer_ms_aux", "model=transformer_ms_aux", "criterion=transformer_ms_aux"),
        *("dataset.max_tokens=80", f"checkpoint.save_dir={tmp_path / 'save'}"),
        *(f"model.{name}={value}" for name, value in SMALL.items()),
    ]
    assert_explained(hydra(tmp_path, *given, *words), *said)
    assert not list(tmp_path.glob("save/*.pt"))


# architecture → its settings in a file, and what is refused
SETTINGS = {
    "transformer_standard": ({"xagg_iterations": 9, "ctx_context": "deep"}, "model.ctx_context"),
    "transformer_dc": ({"dc_kernel_size": 5}, None),
    "transformer_cross_agg": ({"dc_kernel_size": 5, "xagg_iterations": 9}, "model.dc_kernel_size"),
    "transformer_standard_tiny": (
        {"encoder_self_attention": "dual_context", "dc_kernel_size": 5},
        None,
    ),
}


@pytest.mark.parametrize("arch", SETTINGS)
def test_settings_of_a_kind_that_the_model_lacks(arch, corpus):
    own, refused = SETTINGS[arch]
    groups = settings(Path("nowhere"), corpus, "cross_entropy")
    groups["task"]["_name"] = "translation_dc_nmt"
    groups["model"] = {"_name": arch, **SMALL, **own}
    groups["dataset"] |= {"train_subset": "train", "valid_subset": "valid"}
    if refused is None:
        check_groups(groups)
        return
    with pytest.raises(ConfigError, match=refused) as problem:
        check_groups(groups)
    assert "--" not in str(problem.value), "named as Hydra does"


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
        assert_explained(result, "--save-dir", f"{arch}_baseline'", f"{arch}_mean'")


def test_help_lists_the_groups_in_seconds(bare, tmp_path):
    program = """
import time
from fairseq_cli.hydra_train import cli_main
began = time.process_time()
try:
    cli_main()
finally:
    print("seconds:", time.process_time() - began)
"""
    done = bare.run(program, "--help", f"hydra.run.dir={tmp_path}", folder=tmp_path, path=[ROOT])
    assert "transformer_dc" in done.good().output
    assert float(done.output.split("seconds:")[1]) < 20
