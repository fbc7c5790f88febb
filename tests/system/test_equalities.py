"""Results that users expect to be equal, however the work is split."""

from __future__ import annotations

import signal

import torch
from commands import run
from interruption import assert_same_training, kill_before_update
from systems import binarise, family, generation, load, training

ARCH = "transformer_ms_aux_aif"
SEVERAL_KINDS = ["--base", "modern", "--decoder-layers-of", "dual_context(kernel=3)"]
SEVERAL_KINDS += ["--encoder-layers-of", "dual_context(kernel=3) context_aware(context=deep)"]


def test_resumed_is_unbroken(corpus, tmp_path):
    """With dropout, gradients that are added up, and two workers that load data."""
    flags = ["--max-epoch", 2, "--update-freq", 2, "--num-workers", 2, "--dropout", 0.3]
    flags += ["--save-interval-updates", 1, "--disable-validation"]

    def command(save):
        return training(corpus, tmp_path / save, *family(ARCH), *SEVERAL_KINDS, *flags)

    run(tmp_path, "train", *command("whole")).good()
    killed = run(tmp_path, "train", *command("cut"), before=lambda: kill_before_update(3))
    assert killed.code == -signal.SIGKILL
    run(tmp_path, "train", *command("cut")).good()
    assert_same_training(load(tmp_path / "cut"), load(tmp_path / "whole"))


def test_two_half_batches_are_one(tmp_path):
    """To rounding; a batch holds the whole text, so that both compose the same one."""
    corpus = binarise(tmp_path, {"train": 8, "valid": 2, "test": 1})
    states = []
    for size, frequency in ((8, 1), (4, 2)):
        save = tmp_path / f"of-{size}"
        flags = ["--max-epoch", 3, "--dropout", 0, "--optimizer", "sgd", "--lr", 0.5]
        flags += ["--batch-size", size, "--update-freq", frequency, "--max-tokens", 1000]
        flags += ["--disable-validation", "--required-batch-size-multiple", 1]
        flags += ["--no-epoch-checkpoints"]
        run(save, "train", *training(corpus, save, *family(ARCH), *flags)).good()
        states.append(load(save))
    assert [state["optimizer_history"][-1]["num_updates"] for state in states] == [3, 3]
    for name, parameter in states[0]["model"].items():
        assert torch.allclose(parameter, states[1]["model"][name], atol=1e-5), name


def test_hypotheses_do_not_depend_on_the_batch(corpus, lively, tmp_path):
    """Neither on its size, nor on its order, its padding's side, or the other sentences in it."""
    arch = "transformer_ctxaware"

    def hypotheses(*flags):
        command = generation(corpus, lively(arch), arch, "--beam", 2, *flags)
        found = run(tmp_path, "generate", *command).good().hypotheses()
        return {number: text for number, (_, text) in found.items()}

    alone = hypotheses("--batch-size", 1)
    assert len(alone) == 50 and len(set(alone.values())) > 10
    # the last flag switches off what is on by default
    whole = ["--batch-size", 50, "--required-batch-size-multiple", 1, "--left-pad-source"]
    assert hypotheses(*whole) == alone
    parts = [
        hypotheses("--distributed-world-size", 2, "--distributed-rank", part, "--batch-size", 4)
        for part in range(2)
    ]
    assert sum(map(len, parts)) == len(alone) and min(map(len, parts)) > 5
    assert {number: text for part in parts for number, text in part.items()} == alone
