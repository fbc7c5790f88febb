"""Checkpoints and files of runs that something has damaged: one sentence, and nothing half-done."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from commands import assert_explained, run
from systems import generation, train

from dc_nmt_plugin import cli
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.commands import average, export
from dc_nmt_plugin.runs.record import read_record
from dc_nmt_plugin.study.commands import analyze

ARCH = "transformer_standard"


@pytest.fixture(scope="module")
def last(trained):
    return trained(ARCH) / "checkpoint_last.pt"


def changed(last, path, change):
    state = torch.load(last, weights_only=True)
    change(state)
    torch.save(state, path)
    return path


def generate(folder, data, checkpoint, *flags):
    return run(folder, "generate", *generation(data, checkpoint, ARCH, *flags))


def test_a_damaged_checkpoint(corpus, last, tmp_path):
    path = changed(last, tmp_path / "damaged.pt", lambda state: state.update(model=[1]))
    problem = "is not a fairseq checkpoint"
    assert_explained(generate(tmp_path, corpus, path), path, problem)
    assert_explained(train(corpus, tmp_path, ARCH, "--restore-file", path), path, problem)
    for missing in (last.parent / "missing.pt", last.parent):  # fairseq begins with new weights
        flags = ["--restore-file", missing, "--max-update", 1]
        result = train(corpus, tmp_path, ARCH, *flags)
        assert_explained(result, f"--restore-file {missing}: no such file")


def test_a_model_without_its_training_and_numbers_of_numpy(corpus, last, tmp_path):
    """Older versions of fairseq left numpy's numbers, which are no seed and no JSON."""

    def without_training(state):
        for name in ("last_optimizer_state", "optimizer_history", "extra_state"):
            del state[name]

    def with_numpy(state):
        state["optimizer_history"][-1]["num_updates"] = np.int64(updates)
        state["extra_state"]["best"] = np.float64(9.0)

    updates = torch.load(last, weights_only=True)["optimizer_history"][-1]["num_updates"]
    path = changed(last, tmp_path / "part.pt", without_training)
    result = train(corpus, tmp_path, ARCH, "--restore-file", path)
    assert_explained(result, path, "parts such as optimizer_history and extra_state are missing")
    path = changed(last, tmp_path / "numpy.pt", with_numpy)
    flags = ["--restore-file", path, "--max-update", updates + 2]
    train(corpus, tmp_path / "numpy", ARCH, *flags).good()
    assert read_record(tmp_path / "numpy").training.updates == updates + 2


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_parameters_that_are_no_numbers(corpus, last, tmp_path, value):
    def spoil(state):
        next(iter(state["model"].values())).fill_(value)

    path, out = changed(last, tmp_path / "nan.pt", spoil), tmp_path / "out.pt"
    for command, words in (
        (average, [last, path, "--out", out]),
        (export, [path, "--out", out, "--stock"]),
        (analyze, ["attention", path, "--data", corpus, "--cpu"]),
    ):
        with pytest.raises(UserError, match=r"nan\.pt: its parameter .* not numbers"):
            command.main(list(map(str, words)))
        assert not out.exists()


def test_languages_that_only_the_data_tells(corpus, last, tmp_path, capfd):
    """A checkpoint of fairseq-train without --source-lang and --target-lang."""
    path = changed(
        last,
        tmp_path / "unnamed.pt",
        lambda state: state["cfg"]["task"].update(source_lang=None, target_lang=None),
    )
    (tmp_path / "text").write_text("badun kefar\n")
    words = ["translate", path, tmp_path / "text", "--data", corpus, "--tokenizer", "none", "--cpu"]
    assert cli.main(list(map(str, words))) == 0
    assert len(capfd.readouterr().out.splitlines()) == 1
