"""A training that is continued, by fairseq's own programs with its own task and model."""

from __future__ import annotations

import signal

import pytest
from commands import ROOT, run
from interruption import assert_same_training, kill_before_update, kill_while_saving, same, updates
from systems import load, training

TRAIN = "from fairseq_cli.train import cli_main; cli_main()"
PLUGIN = ROOT / "dc_nmt_plugin"
STOCK = ["--arch", "transformer", "--task", "translation"]
STOCK += ["--criterion", "label_smoothed_cross_entropy"]


@pytest.fixture
def train(bare, tmp_path):
    """Calls ``fairseq-train --user-dir`` as a user does."""

    def call(data, save, *flags):
        words = training(data, save, *STOCK, "--user-dir", PLUGIN, *flags)
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
    "--keep-best-checkpoints 2 --save-interval-updates 3": lambda: kill_while_saving(4),
    "--validate-interval-updates 3": lambda: kill_before_update(9),
    "--save-interval 2 --validate-interval 1": lambda: kill_before_update(20),
}


@pytest.mark.parametrize("flags", RESUMED)
def test_killed_and_continued_is_unbroken(flags, corpus, train, tmp_path):
    words = ["--max-epoch", 6, *flags.split()]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train(corpus, whole, *words).good()
    killed(corpus, broken, RESUMED[flags], *words)
    train(corpus, broken, *words).good()
    assert_same_training(load(broken), load(whole))
    assert files(broken) == files(whole)
    assert same(*(extra(save).get("best") for save in (broken, whole)))
    assert updates(broken) == updates(whole)
