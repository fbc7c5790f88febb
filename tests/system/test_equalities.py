"""Results that users expect to be equal, however the work is split."""

from __future__ import annotations

import signal

import pytest
import torch
from commands import run
from helpers import few
from interruption import assert_same_training, kill_before_update
from systems import FAMILIES, binarise, family, generation, load, training

SEVERAL = [name for name in FAMILIES if name != "transformer_standard"]
RECURRENT = ["--arch", "gru_selfattn_residual", "--task", "translation_dc_nmt"]
RECURRENT += ["--criterion", "joint_label_smoothed_cross_entropy"]
RECURRENT += ["--embed-dim", 8, "--hidden-dim", 8, "--dropout", 0.1]


SEVERAL_KINDS = ["--base", "modern", "--decoder-layers-of", "dual_context(kernel=3)"]
SEVERAL_KINDS += ["--encoder-layers-of", "dual_context(kernel=3) context_aware(context=deep)"]


def commands(corpus, save, arch, *changes):
    """The command line of a tiny training of a Transformer, or of the recurrent model."""
    if arch == "layers of several kinds":
        return training(corpus, save, *family("transformer_ms_aux_aif"), *SEVERAL_KINDS, *changes)
    if arch != "recurrent":
        return training(corpus, save, *family(arch), *changes)
    return [
        *(corpus, "--save-dir", save, *RECURRENT, "--cpu", "--seed", 5, "--optimizer", "adam"),
        *("--lr", 0.01, "--max-tokens", 80, "--num-workers", 0, *changes),
    ]


HALVED = few(["transformer_dc", "transformer_ms_aux_aif", "recurrent"], "transformer_ms_aux_aif")
RESUMED = few([*FAMILIES, "recurrent", "layers of several kinds"], "layers of several kinds")


@pytest.mark.parametrize("arch", RESUMED)
def test_resumed_is_unbroken(arch, corpus, tmp_path):
    """With dropout, gradients that are added up, and two workers that load data."""
    flags = ["--max-epoch", 2, "--update-freq", 2, "--num-workers", 2, "--dropout", 0.3]
    flags += ["--save-interval-updates", 1, "--disable-validation"]
    run(tmp_path, "train", *commands(corpus, tmp_path / "whole", arch, *flags)).good()
    command = commands(corpus, tmp_path / "cut", arch, *flags)
    killed = run(tmp_path, "train", *command, before=lambda: kill_before_update(3))
    assert killed.code == -signal.SIGKILL
    run(tmp_path, "train", *command).good()
    assert_same_training(load(tmp_path / "cut"), load(tmp_path / "whole"))


@pytest.mark.parametrize("arch", HALVED)
def test_two_half_batches_are_one(arch, tmp_path):
    """To rounding; a batch holds the whole text, so that both compose the same one."""
    corpus = binarise(tmp_path, {"train": 8, "valid": 2, "test": 1})
    states = []
    for size, frequency in ((8, 1), (4, 2)):
        save = tmp_path / f"of-{size}"
        flags = ["--max-epoch", 3, "--dropout", 0, "--optimizer", "sgd", "--lr", 0.5]
        flags += ["--batch-size", size, "--update-freq", frequency, "--max-tokens", 1000]
        flags += ["--disable-validation", "--required-batch-size-multiple", 1]
        flags += ["--no-epoch-checkpoints"]
        run(save, "train", *commands(corpus, save, arch, *flags)).good()
        states.append(load(save))
    assert [state["optimizer_history"][-1]["num_updates"] for state in states] == [3, 3]
    for name, parameter in states[0]["model"].items():
        assert torch.allclose(parameter, states[1]["model"][name], atol=1e-5), name


@pytest.mark.parametrize("arch", few(SEVERAL, "transformer_ctxaware"))
def test_hypotheses_do_not_depend_on_the_batch(arch, corpus, lively, tmp_path):
    """Neither on its size, nor on its order, its padding's side, or the other sentences in it."""

    def hypotheses(*flags):
        command = generation(corpus, lively(arch), arch, *flags)
        found = run(tmp_path, "generate", *command).good().hypotheses()
        return {number: text for number, (_, text) in found.items()}

    alone = hypotheses("--batch-size", 1)
    assert len(alone) == 50 and len(set(alone.values())) > 10
    whole = ["--batch-size", 50, "--required-batch-size-multiple", 1]
    # the flag switches off what is on by default
    for flags in (["--max-tokens", 30], whole, [*whole, "--left-pad-source"]):
        assert hypotheses(*flags) == alone, flags
    parts = [
        hypotheses("--distributed-world-size", 2, "--distributed-rank", part, "--batch-size", 4)
        for part in range(2)
    ]
    assert sum(map(len, parts)) == len(alone) and min(map(len, parts)) > 5
    assert {number: text for part in parts for number, text in part.items()} == alone
