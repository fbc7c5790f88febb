"""Two processes train as one does, with fairseq's old and its default exchange of gradients, and
in half precision."""

from __future__ import annotations

import functools
import itertools
import math
import multiprocessing
import os

import pytest
import torch
from commands import ROOT, real, run
from fairseq.trainer import Trainer
from helpers import few, sample, sentences, task
from product import PAIRS, VALUES, model, settings
from systems import ADADELTA, family, load, recurrent_training, training
from two_processes import free_port, train_on_two, without_devices

from dc_nmt_plugin.criterions.joint_loss import JointLossCriterion

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


@pytest.mark.thorough
def test_torchrun(corpus, tmp_path):
    """The documented command line."""
    arch = "transformer_dc"
    flags = training(corpus, tmp_path, *family(arch), "--max-update", 3, "--disable-validation")
    flags += ["--user-dir", ROOT / "dc_nmt_plugin", "--ddp-backend", "legacy_ddp"]
    flags += ["--distributed-backend", "gloo", "--distributed-no-spawn"]
    ranks = (
        "--distributed-world-size $WORLD_SIZE --distributed-rank $RANK "
        "--distributed-init-method env://"
    )
    command = f"exec fairseq-train {' '.join(map(str, flags))} {ranks}"
    launcher = ["torchrun", "--nproc_per_node", 2, "--master_port", free_port(), "--no-python"]
    result = real(*launcher, "bash", "-c", command, folder=tmp_path).good()
    assert "training on 2 devices" in result.output
    assert load(tmp_path)["optimizer_history"][-1]["num_updates"] == 3


# each value of the two self-attention axes and of the auxiliary one, and every way in which source
# features are computed; the two tests below cover the rest without a command line a model
COMBINED = [
    ["cross_aggregation", "context_aware", "m-10", "auxiliary+AIF", "modern"],
    ["dual_context", "dual_context", "iter-c-agg", "auxiliary", "relative"],
    ["context_aware", "standard", "m-01", "none", "modern"],
    ["standard", "dual_context", "s-agg", "auxiliary+AIF", "original"],
]


def combined(data, save, combination, *more):
    """The command line of a combination's training."""
    names = ["--arch", "transformer_standard", *family("transformer_ms_aux_aif")[2:]]
    flags = []
    for name, value in settings(combination).items():
        flags += [f"--{name.replace('_', '-')}", *([] if value is True else [value])]
    return training(data, save, *names, *flags, *more)


# the first one trains in half precision below, with the same flags
@pytest.mark.parametrize("combination", few(COMBINED[1:], COMBINED[1]), ids=" ".join)
def test_combined_axes_train_on_two_processes(combination, corpus, tmp_path):
    """With fairseq's defaults: a parameter without a gradient would end the second update."""
    command = combined(corpus, tmp_path, combination, "--max-update", 3, "--disable-validation")
    first, _ = train_on_two(tmp_path, "pytorch_ddp", *command)
    assert "training on 2 devices" in first.output
    assert load(tmp_path)["optimizer_history"][-1]["num_updates"] == 3


def test_the_search_for_unused_parameters_changes_nothing(corpus, tmp_path):
    models = []
    for flags in ([], ["--find-unused-parameters"]):
        save = tmp_path / f"{len(flags)}"
        words = gru(corpus, save, "--max-update", 4, "--disable-validation", "--update-freq", 2)
        train_on_two(save, "pytorch_ddp", *words, *flags)
        models.append(load(save)["model"])
    assert all(torch.equal(models[0][name], models[1][name]) for name in models[0])


def every_mechanism(data, save, *more):
    """A kind of every axis."""
    return combined(data, save, COMBINED[0], *more)


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


@pytest.mark.parametrize(
    "models", few([VALUES, PAIRS], VALUES), ids=lambda models: f"{len(models)} models"
)
def test_every_axis_value_trains_on_two_processes(models, tmp_path):
    """The models that cover all values, or all pairs, one after the other in two processes.

    tests/model/test_product.py sees on all 324 that every parameter gets a gradient, which is
    what distributed training needs of a model.
    """
    context = multiprocessing.get_context("fork")
    address = f"file://{tmp_path}/meet"
    processes = [
        context.Process(target=train_each, args=(models, rank, address, tmp_path))
        for rank in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=600)
        process.kill()
    said = [(tmp_path / str(rank)).read_text() for rank in range(2)]
    assert said == ["good", "good"], said


def train_each(models, rank, address, folder):
    """Three updates of every model; writes what went wrong into the file named like the rank."""
    torch.set_num_threads(1)
    said = folder / str(rank)
    said.write_text("hangs or died")
    dist = torch.distributed
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    criterion = JointLossCriterion(task(), False, 0.1)
    batches = [
        sample(sentences([5, 3], seed=seed), sentences([4, 2], seed=seed)) for seed in (1, 2)
    ]
    try:
        for combination in models:
            said.write_text(f"stopped at {combination}")
            net = model(combination, dropout=0.0).train()
            wrapped = torch.nn.parallel.DistributedDataParallel(Both(net, criterion))
            for _ in range(2):
                net.zero_grad()
                wrapped(batches[rank]).backward()
            shared = [parameter.grad.clone() for parameter in net.parameters()]
            net.zero_grad()
            (sum(criterion(net, batch)[0] for batch in batches) / 2).backward()
            for (name, parameter), mean in zip(net.named_parameters(), shared, strict=True):
                assert torch.allclose(parameter.grad, mean, atol=1e-5), (combination, name)
        said.write_text("good")
    except Exception as error:
        said.write_text(repr(error))
    finally:
        dist.destroy_process_group()


class Both(torch.nn.Module):
    """Model and loss in one forward pass, so that all is seen by what wraps it."""

    def __init__(self, net, criterion):
        super().__init__()
        self.net = net
        self.criterion = criterion

    def forward(self, batch):
        return self.criterion(self.net, batch)[0]
