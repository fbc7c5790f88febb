"""Two processes train as one does, with fairseq's old and its default exchange of gradients, and
in half precision."""

from __future__ import annotations

import functools
import itertools
import math
import os

import pytest
import torch
from commands import run
from fairseq.trainer import Trainer
from helpers import few
from product import settings
from systems import ADADELTA, family, load, recurrent_training, training
from two_processes import train_on_two, without_devices

ARCHITECTURES = ["transformer_dc", "transformer_ms_aux_aif"]
# without dropout and with plain gradient descent, only the order of additions differs
EXACT = ["--dropout", 0, "--optimizer", "sgd", "--lr", 0.2, "--momentum", 0.9]


EXCHANGES = few(
    itertools.product(ARCHITECTURES, ["legacy_ddp", "pytorch_ddp"]),
    ("transformer_ms_aux_aif", "pytorch_ddp"),
)


@pytest.mark.parametrize(("arch", "backend"), EXCHANGES)
def test_two_processes_train_as_one_that_adds_up_two_batches(
    arch, backend, corpus, alone, tmp_path
):
    command = training(corpus, tmp_path, *family(arch), *EXACT, "--max-epoch", 2)
    first, _ = train_on_two(tmp_path, backend, *command)
    assert "training on 2 devices" in first.output
    expected, losses = alone(arch)
    state = load(tmp_path)
    assert state["model"].keys() == expected["model"].keys()
    for name, parameter in expected["model"].items():
        assert torch.allclose(state["model"][name], parameter, atol=1e-5, rtol=1e-4), name
    # losses are added up over both processes
    assert first.logged("train_loss") == pytest.approx(losses["train_loss"], abs=2e-3)
    assert first.logged("valid_loss") == pytest.approx(losses["valid_loss"], abs=2e-3)


@pytest.fixture(scope="module")
def alone(corpus, tmp_path_factory):
    """Architecture → checkpoint and losses of one process that adds up two batches an update."""

    @functools.cache
    def of(arch):
        save = tmp_path_factory.mktemp("alone")
        command = training(corpus, save, *family(arch), *EXACT, "--max-epoch", 2)
        done = run(save, "train", *command, "--update-freq", 2).good()
        return load(save), {name: done.logged(name) for name in ("train_loss", "valid_loss")}

    return of


@pytest.mark.thorough
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_two_processes_resume_exactly(arch, corpus, tmp_path):
    """With dropout and Adam, whose state the second process receives from the first."""

    def command(save, *length):
        return training(corpus, save, *family(arch), *length)

    unbroken, resumed = tmp_path / "unbroken", tmp_path / "resumed"
    train_on_two(unbroken, "legacy_ddp", *command(unbroken, "--max-epoch", 3))
    stop = ["--max-update", 4, "--save-interval-updates", 2]
    train_on_two(resumed, "legacy_ddp", *command(resumed, *stop))
    again, _ = train_on_two(resumed, "legacy_ddp", *command(resumed, "--max-epoch", 3))
    assert "(epoch 2 @ 4 updates)" in again.output
    left, right = load(unbroken)["model"], load(resumed)["model"]
    assert all(torch.equal(left[name], right[name]) for name in left)


# a kind of every axis; tests/model/test_product.py sees that every parameter gets a gradient
COMBINED = ["cross_aggregation", "context_aware", "m-10", "auxiliary+AIF", "modern"]


def every_mechanism(data, save, *more):
    names = ["--arch", "transformer_standard", *family("transformer_ms_aux_aif")[2:]]
    flags = []
    for name, value in settings(COMBINED).items():
        flags += [f"--{name.replace('_', '-')}", *([] if value is True else [value])]
    return training(data, save, *names, *flags, *more)


def gru(data, save, *more):
    return recurrent_training(data, save, "", *ADADELTA, "--log-interval", 1, *more)


@pytest.mark.parametrize("command", few([every_mechanism, gru], every_mechanism))
def test_half_precision_keeps_two_processes_the_same(command, corpus, tmp_path):
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
    words = command(corpus, tmp_path, *flags)
    first, _ = train_on_two(tmp_path, "pytorch_ddp", *words, before=before)
    assert "training on 2 devices" in first.output
    losses = first.logged("loss")
    assert len(losses) == 3 and all(map(math.isfinite, losses)) and losses[-1] < losses[0]
    assert first.logged("loss_scale") == [4.0] * 3, "an update was left out"
    one, other = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2))
    assert all(p.dtype == torch.float16 and torch.isfinite(p).all() for p in one)
    assert all(torch.equal(left, right) for left, right in zip(one, other, strict=True))
