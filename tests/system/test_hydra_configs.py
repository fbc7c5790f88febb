"""``examples/TASK/config``: what ``dc-nmt train`` trains, for ``fairseq-hydra-train``."""

from __future__ import annotations

import pytest
import torch
import yaml
from commands import ROOT, run
from helpers import few
from systems import SOURCE, TARGET
from systems import load as load_checkpoint

from dc_nmt_plugin.recipes.hydra_config import architectures_of, config_text
from dc_nmt_plugin.recipes.launch import MachineOptions
from dc_nmt_plugin.recipes.options import RunOptions, TrainOptions
from dc_nmt_plugin.recipes.recipe import load, recipes_folder
from dc_nmt_plugin.recipes.run_plan import plan_training

TASKS = sorted(path.stem for path in recipes_folder().glob("*.yaml"))


@pytest.mark.parametrize("task", few(TASKS, "iwslt15_en_vi"))
def test_the_files_are_those_that_the_command_writes(task):
    """After a change to a recipe: ``dc-nmt recipe config TASK --out examples/TASK/config``."""
    recipe, folder = load(str(recipes_folder() / task)), ROOT / "examples" / task / "config"
    names = architectures_of(recipe)
    assert sorted(path.stem for path in folder.glob("*")) == sorted(names)
    for name in names:
        assert (folder / f"{name}.yaml").read_text("utf-8") == config_text(recipe, name), name


def test_all_that_dc_nmt_train_says_is_in_the_file():
    plan = plan_training(
        RunOptions("wmt14_en_de", "transformer_ctxaware"),
        TrainOptions(machines=MachineOptions("fairseq", 1)),
    )
    flags = list(plan.training.command)
    said = yaml.safe_load(config_text(load("wmt14_en_de"), "transformer_ctxaware"))

    def value(flag):
        return flags[flags.index(flag) + 1]

    assert said["model"]["_name"] == value("--arch") == "transformer_ctxaware_unshared"
    assert said["task"]["data"] == "runs/wmt14_en_de/data/bin-separate"
    assert said["dataset"]["max_tokens"] == int(value("--max-tokens")) == 4096
    assert said["optimization"]["update_freq"] == [int(value("--update-freq"))] == [8]
    assert said["lr_scheduler"]["_name"] == value("--lr-scheduler") == "inverse_sqrt"
    assert said["lr_scheduler"]["warmup_init_lr"] == float(value("--warmup-init-lr"))


BOTH_SIDES = {"encoder_layers": 2, "decoder_layers": 1}
for side in ("encoder", "decoder"):
    BOTH_SIDES |= {f"{side}_embed_dim": 8, f"{side}_ffn_embed_dim": 12}
SMALL = {
    ("iwslt15_en_vi", "transformer_ms_aux"): BOTH_SIDES,
    # its optimizer is of fairseq's old kind, without a dataclass
    ("wmt13_es_en", "gru_selfattn_residual"): {"embed_dim": 6, "hidden_dim": 8},
}


@pytest.mark.parametrize(("task", "arch"), few(SMALL, ("iwslt15_en_vi", "transformer_ms_aux")))
def test_both_ways_reach_the_same_parameters(task, arch, corpus, tmp_path):
    small = SMALL[task, arch]
    config = ROOT / "examples" / task / "config"
    words = ["--config-dir", config, "--config-name", arch, "common.cpu=true"]
    words += [f"++model.{name}={small[name]}" for name in small]
    words += [f"task.data={corpus}", f"task.source_lang={SOURCE}", f"task.target_lang={TARGET}"]
    words += ["optimization.max_update=3", "dataset.max_tokens=80", "dataset.num_workers=0"]
    words += ["dataset.disable_validation=true", f"checkpoint.save_dir={tmp_path}/hydra"]
    words += [f"common.user_dir={ROOT / 'dc_nmt_plugin'}"]
    machine = TrainOptions(machines=MachineOptions("fairseq", 1))
    plan = plan_training(RunOptions(task, arch), machine)
    flags = list(plan.training.command)[2:-2]  # without the data and the folder of checkpoints
    for name, value in small.items():
        flags += [f"--{name.replace('_', '-')}", str(value)]
    flags += ["--source-lang", SOURCE, "--target-lang", TARGET, "--max-update", "3", "--cpu"]
    flags += ["--max-tokens", "80", "--disable-validation", "--num-workers", "0"]
    if "--warmup-updates" in flags:
        flags += ["--warmup-updates", "1"]
        words += ["lr_scheduler.warmup_updates=1"]
    run(tmp_path, "hydra_train", *words, f"hydra.run.dir={tmp_path}").good()
    run(tmp_path, "train", corpus, *flags, "--save-dir", tmp_path / "flags").good()
    ours, theirs = (load_checkpoint(tmp_path / way) for way in ("hydra", "flags"))
    assert ours["optimizer_history"][-1]["num_updates"] == 3
    assert ours["model"].keys() == theirs["model"].keys()
    for name, parameter in theirs["model"].items():
        assert torch.equal(ours["model"][name], parameter), name
