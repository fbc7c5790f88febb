"""Two processes train as one does, also in half precision."""

from __future__ import annotations

import math
import os

import pytest
import torch
from commands import assert_explained, run
from fairseq.trainer import Trainer
from product import settings
from systems import family, load, training
from two_processes import train_on_two, without_devices

ARCH = "transformer_ms_aux_aif"
# without dropout and with plain gradient descent, only the order of additions differs
EXACT = ["--dropout", 0, "--optimizer", "sgd", "--lr", 0.2, "--momentum", 0.9]


def test_two_processes_train_as_one_that_adds_up_two_batches(corpus, tmp_path):
    def command(save, *more):
        return training(corpus, save, *family(ARCH), *EXACT, "--max-epoch", 2, *more)

    alone = run(tmp_path, "train", *command(tmp_path / "alone", "--update-freq", 2)).good()
    first, _ = train_on_two(tmp_path, "pytorch_ddp", *command(tmp_path))
    assert "training on 2 devices" in first.output
    expected, state = load(tmp_path / "alone"), load(tmp_path)
    assert state["model"].keys() == expected["model"].keys()
    for name, parameter in expected["model"].items():
        assert torch.allclose(state["model"][name], parameter, atol=1e-5, rtol=1e-4), name
    # one of the processes writes the record and the curve
    assert (tmp_path / "curve.log").read_text().count("| valid |") == 2
    for name in ("train_loss", "valid_loss"):  # losses are added up over both processes
        assert first.logged(name) == pytest.approx(alone.logged(name), abs=2e-3)


def test_processes_that_would_each_train_alone_are_refused(corpus, tmp_path):
    """As torchrun starts them on machines with one GPU each, or without one."""
    words = training(corpus, tmp_path / "save", *family(ARCH), "--no-save", "--max-update", 1)
    result = run(tmp_path, "train", *words, environment={"WORLD_SIZE": "2", "RANK": "1"})
    assert_explained(result, "--distributed-world-size: is 1", "give --distributed-world-size 2")


# a kind of every axis; tests/model/test_product.py sees that every parameter gets a gradient
COMBINED = ["cross_aggregation", "context_aware", "m-10", "auxiliary+AIF", "modern"]


def every_mechanism(data, save, *more):
    names = ["--arch", "transformer_standard", *family("transformer_ms_aux_aif")[2:]]
    flags = []
    for name, value in settings(COMBINED).items():
        flags += [f"--{name.replace('_', '-')}", *([] if value is True else [value])]
    return training(data, save, *names, *flags, *more)


def test_half_precision_keeps_two_processes_the_same(corpus, tmp_path):
    """--fp16 as on GPUs, but for one thing: fairseq's flat float32 copy of the parameters can only
    be on the current GPU, hence --fp16-no-flatten-grads.
    """

    def before():
        without_devices()
        stock = Trainer.train_step

        def train_step(trainer, *args, **kwargs):
            log = stock(trainer, *args, **kwargs)
            parameters = [p.detach().clone() for p in trainer.model.parameters()]
            torch.save(parameters, tmp_path / f"{os.environ['RANK']}.pt")
            return log

        Trainer.train_step = train_step

    flags = ["--max-update", 3, "--disable-validation", "--update-freq", 2]
    flags += ["--fp16", "--fp16-no-flatten-grads", "--fp16-init-scale", 4]
    words = every_mechanism(corpus, tmp_path, *flags)
    first, _ = train_on_two(tmp_path, "pytorch_ddp", *words, before=before)
    assert "training on 2 devices" in first.output
    losses = first.logged("loss")
    assert len(losses) == 3 and all(map(math.isfinite, losses)) and losses[-1] < losses[0]
    assert first.logged("loss_scale") == [4.0] * 3, "an update was left out"
    one, other = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2))
    assert all(p.dtype == torch.float16 and torch.isfinite(p).all() for p in one)
    assert all(torch.equal(left, right) for left, right in zip(one, other, strict=True))
