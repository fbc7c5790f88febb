"""``fairseq-validate``: the checkpoint says what it was trained with."""

from __future__ import annotations

import pytest
import torch
from commands import ROOT, assert_explained, run
from systems import FAMILIES, SOURCE, TARGET

ARCH = "transformer_dc"


def validate(folder, data, *flags):
    return run(folder, "validate", data, "--cpu", "--max-tokens", 80, "--num-workers", 0, *flags)


def loss(result):
    """What the program prints of the subset."""
    line = result.good().output.splitlines()[-1]
    assert "valid | " in line and "loss" in line
    return line.split("valid | ")[-1]


def test_the_task_is_that_of_the_checkpoint(corpus, trained, tmp_path):
    last = trained(ARCH) / "checkpoint_last.pt"
    task, _ = FAMILIES[ARCH]
    named = validate(tmp_path, corpus, "--path", last, "--task", task)
    assert loss(validate(tmp_path, corpus, "--path", last)) == loss(named)
    # in the order in which fairseq reads it: --user-dir and the task's own flags
    flags = ["--path", last, "--left-pad-source", "--user-dir", ROOT / "dc_nmt_plugin"]
    assert loss(validate(tmp_path, corpus, *flags)) == loss(named)


def test_fairseqs_own_task_without_the_flag(corpus, bare, trained, tmp_path):
    """As a user types it, with the plugin found by --user-dir alone."""
    path = tmp_path / "last.pt"
    state = torch.load(trained("transformer_standard") / "checkpoint_last.pt", weights_only=True)
    state["cfg"]["task"]["_name"] = "translation"
    torch.save(state, path)
    code = "from fairseq_cli.validate import cli_main; cli_main()"
    words = [corpus, "--path", path, "--cpu", "--max-tokens", 80]
    words += ["--user-dir", ROOT / "dc_nmt_plugin"]
    loss(bare.run(code, *words, folder=tmp_path))


def unnamed(task):
    task["_name"] = None


def unknown(task):
    task["_name"] = "translation_of_another_plugin"


@pytest.mark.parametrize(
    ("change", "said"),
    [(unnamed, "does not say its task"), (unknown, "translation_of_another_plugin")],
)
def test_a_checkpoint_that_does_not_say_its_task(change, said, corpus, trained, tmp_path):
    state = torch.load(trained(ARCH) / "checkpoint_last.pt", weights_only=True)
    change(state["cfg"]["task"])
    torch.save(state, tmp_path / "other.pt")
    done = validate(tmp_path, corpus, "--path", tmp_path / "other.pt")
    assert_explained(done, "--task", tmp_path / "other.pt", said)


def test_no_checkpoint(corpus, tmp_path):
    assert_explained(validate(tmp_path, corpus), "--path: is missing")
    languages = ["--source-lang", SOURCE, "--target-lang", TARGET]
    assert_explained(validate(tmp_path, corpus, "--task", "translation", *languages), "--path")
    nowhere = tmp_path / "nowhere.pt"
    assert_explained(validate(tmp_path, corpus, "--path", nowhere), nowhere, "no such checkpoint")
