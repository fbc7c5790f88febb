"""A training that is continued, by fairseq's own programs with its own task and model."""

from __future__ import annotations

import shutil
import signal

import fairseq_cli.train
import pytest
import torch
from commands import ROOT, assert_explained, run
from interruption import assert_same_training, kill_before_update, kill_while_saving, same, updates
from systems import load, training

from dc_nmt_plugin.runs.record import read_record

TRAIN = "from fairseq_cli.train import cli_main; cli_main()"
STOCK = ["--arch", "transformer", "--task", "translation"]
STOCK += ["--criterion", "label_smoothed_cross_entropy"]


@pytest.fixture
def train(bare, tmp_path):
    """Calls ``fairseq-train --user-dir`` as a user does."""

    def call(data, save, *flags):
        words = training(data, save, *STOCK, "--user-dir", ROOT / "dc_nmt_plugin", *flags)
        return bare.run(TRAIN, *words, folder=tmp_path, path=[ROOT])

    return call


def killed(corpus, save, moment, *flags):
    """Train until something kills the process."""
    done = run(save, "train", *training(corpus, save, *STOCK, *flags), before=moment)
    assert done.code == -signal.SIGKILL, done.output[-2000:] + done.errors


def files(save):
    """The checkpoints of a folder."""
    return sorted(path.name for path in save.glob("*.pt"))


def extra(save):
    return load(save)["extra_state"]


RESUMED = {
    "--patience 2 --lr 0.1": lambda: kill_before_update(12),
    "--save-interval-updates 3 --validate-interval-updates 3": lambda: kill_while_saving(4),
}


@pytest.mark.parametrize("flags", RESUMED)
def test_killed_and_continued_is_unbroken(flags, corpus, train, tmp_path):
    words = ["--max-epoch", 6, *flags.split()]
    unbroken, broken = tmp_path / "unbroken", tmp_path / "broken"
    forked(corpus, unbroken, *words).good()
    killed(corpus, broken, RESUMED[flags], *words)
    train(corpus, broken, *words).good()
    assert_same_training(load(broken), load(unbroken))
    assert files(broken) == files(unbroken)
    assert same(*(extra(save).get("best") for save in (broken, unbroken)))
    assert updates(broken) == updates(unbroken)


def forked(corpus, save, *flags):
    """As :func:`train`, in less time."""
    return run(save, "train", *training(corpus, save, *STOCK, *flags))


ENDED = {
    "--max-update 3": "3 are made (--max-update 3)",
    "--patience 1 --lr 0.5 --max-epoch 20": "it has stopped early (--patience 1)",
    "--stop-time-hours 1e-9": "it has trained for --stop-time-hours 1e-09",
}


@pytest.mark.parametrize("flags", ENDED)
def test_a_training_that_has_ended_goes_no_further(flags, corpus, tmp_path):
    forked(corpus, tmp_path, *flags.split()).good()
    before = updates(tmp_path)
    again = forked(corpus, tmp_path, *flags.split()).good()
    assert f"no further update: {ENDED[flags]}" in again.output
    assert updates(tmp_path) == before
    if flags.startswith("--max-update"):
        forked(corpus, tmp_path, "--max-update", 5).good()
        assert updates(tmp_path) == 5, "more updates go on"


def test_a_plateau_is_counted_across_runs(corpus, tmp_path):
    """An epoch's checkpoint is saved before the learning rate follows its validation."""
    flags = ["--lr-scheduler", "reduce_lr_on_plateau", "--lr-patience", 1, "--lr-shrink", 0.5]
    flags += ["--lr", 0.3, "--no-epoch-checkpoints"]
    unbroken, broken = tmp_path / "unbroken", tmp_path / "broken"
    rates = forked(corpus, unbroken, *flags, "--max-epoch", 8).good().logged("train_lr")
    assert rates[-1] < rates[5] < rates[0], "it is lowered twice"
    forked(corpus, broken, *flags, "--max-epoch", 5).good()
    killed(corpus, broken, lambda: kill_before_update(46), *flags, "--max-epoch", 8)
    forked(corpus, broken, *flags, "--max-epoch", 8).good()
    assert_same_training(load(broken), load(unbroken))
    histories = [load(save)["optimizer_history"][-1] for save in (broken, unbroken)]
    first, second = (each["lr_scheduler_state"] for each in histories)
    assert all(first[name] == second[name] for name in ("best", "num_bad_epochs"))


def test_the_best_is_the_best_that_was_validated(corpus, monkeypatch, tmp_path):
    """Also after the updates between two saved ones, and after NaN."""
    validate = fairseq_cli.train.validate

    def nan_in_between(cfg, trainer, *more):
        return [float("nan")] if trainer.get_num_updates() == 5 else validate(cfg, trainer, *more)

    monkeypatch.setattr(fairseq_cli.train, "validate", nan_in_between)
    flags = ["--validate-interval-updates", 1, "--max-update", 6]
    losses = forked(corpus, tmp_path, "--lr", 0.5, *flags).good().logged("valid_loss")
    assert min(losses) < losses[-1], "the last is not the best"
    best = torch.load(tmp_path / "checkpoint_best.pt", weights_only=True)
    assert best["extra_state"]["val_loss"] == min(losses)
    assert extra(tmp_path)["best"] == min(losses)


def test_other_batches_in_the_middle_of_an_epoch_are_refused(corpus, tmp_path):
    """They would leave out some sentences of the epoch, and read others twice."""
    words = ["--save-interval-updates", 3, "--max-epoch", 3]
    killed(corpus, tmp_path, lambda: kill_before_update(5), *words)
    before, record = (tmp_path / "checkpoint_last.pt").read_bytes(), read_record(tmp_path)
    iterations = extra(tmp_path)["train_iterator"]
    made, of = iterations["iterations_in_epoch"], iterations["batches_in_epoch"]
    assert 0 < made < of
    for flags in (["--max-tokens", 30], ["--max-tokens", 160], ["--seed", 6]):
        refused = forked(corpus, tmp_path, *words, *flags)
        assert_explained(refused, f"after {made} of {of} batches of epoch", "--reset-dataloader")
        assert (tmp_path / "checkpoint_last.pt").read_bytes() == before
        assert read_record(tmp_path) == record
    anew = shutil.copytree(tmp_path, tmp_path / "anew")
    forked(corpus, anew, *words, "--max-tokens", 30, "--reset-dataloader").good()
    forked(corpus, tmp_path, *words).good()
    # at the end of an epoch, other batches are made for the next one
    forked(corpus, tmp_path, "--max-epoch", 4, "--max-tokens", 30).good()


def test_every_kept_update_has_its_checkpoint(corpus, tmp_path):
    flags = ["--save-interval-updates", 3, "--keep-interval-updates", 3, "--no-epoch-checkpoints"]
    forked(corpus, tmp_path, "--max-epoch", 4, *flags).good()
    total = updates(tmp_path)
    assert total % 4 == 0 and total // 4 % 3 == 0, "an epoch ends with an update that is saved"

    def kept():
        return sorted(int(n[:-3].split("_")[2]) for n in files(tmp_path) if n.count("_") == 2)

    assert kept() == [total - 6, total - 3, total]
    forked(corpus, tmp_path, "--max-update", total + 1, *flags).good()
    assert kept() == [total - 3, total, total + 1], "the last update is no multiple of 3"
