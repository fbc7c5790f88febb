"""A killed training, resumed, ends with the parameters of an unbroken one."""

from __future__ import annotations

import re
import signal

import pytest
from commands import run
from interruption import assert_same_training, kill_before_update, kill_while_saving, updates
from systems import family, load, train, training

EPOCHS = 4


@pytest.fixture(scope="module")
def unbroken(corpus, tmp_path_factory):
    """Architecture → the last checkpoint of an unbroken training."""
    states = {}

    def of(arch):
        if arch not in states:
            save = tmp_path_factory.mktemp("unbroken")
            output = train(corpus, save, arch, *FLAGS).good().output
            assert updates(save) >= 4 * EPOCHS, "an epoch needs several batches"
            assert "Loaded checkpoint" not in output
            states[arch] = load(save)
        return states[arch]

    return of


FLAGS = ["--max-epoch", EPOCHS, "--save-interval-updates", 2, "--lr-scheduler", "inverse_sqrt"]


@pytest.mark.thorough
@pytest.mark.parametrize("arch", ["transformer_dc", "transformer_ms_aux_aif"])
def test_killed_in_a_later_epoch(arch, corpus, unbroken, tmp_path):
    expected = unbroken(arch)
    total = expected["optimizer_history"][-1]["num_updates"]
    command = training(corpus, tmp_path, *family(arch), *FLAGS)
    killed = run(tmp_path, "train", *command, before=lambda: kill_before_update(total - 1))
    assert killed.code == -signal.SIGKILL
    resumed = run(tmp_path, "train", *command).good()
    assert re.search(
        rf"Loaded checkpoint .* \(epoch {EPOCHS} @ {total - 2 - total % 2} updates\)",
        resumed.output,
    )
    assert_same_training(load(tmp_path), expected)


@pytest.mark.thorough
def test_killed_twice_once_while_saving(corpus, unbroken, tmp_path):
    arch = "transformer_dc"
    command = training(corpus, tmp_path, *family(arch), *FLAGS)
    for moment in (lambda: kill_before_update(11), lambda: kill_while_saving(3)):
        assert run(tmp_path, "train", *command, before=moment).code == -signal.SIGKILL
    assert list(tmp_path.glob("*.tmp")), "the second one died while saving"
    run(tmp_path, "train", *command).good()
    assert_same_training(load(tmp_path), unbroken(arch))
