"""What cannot work ends with one clear sentence, a non-zero status and nothing half-written."""

from __future__ import annotations

import resource
import shutil

import pytest
import torch
from commands import assert_explained, run
from helpers import few
from systems import family, generation, train, training
from torch.multiprocessing import start_processes

from dc_nmt_plugin.errors import ConfigError

ARCH = "transformer_dc"
AUXILIARY = "transformer_ms_aux_aif"


# what is wrong → (architecture, flags, what the sentence must name)
SETTINGS = {
    "layers outside the model": (
        ARCH,
        ["--encoder-self-attention-layers", "2-3"],
        ["--encoder-self-attention-layers", "'2-3'", "1-2"],
    ),
    "a kernel of no width": (ARCH, ["--dc-kernel-size", 0], ["--dc-kernel-size", "0"]),
    "an unknown kind": (
        ARCH,
        ["--encoder-self-attention", "dual_contxt"],
        ["--encoder-self-attention", "'dual_contxt'", "standard, dual_context", "Did you mean"],
    ),
    "layers of the standard kind": (
        "transformer_dc",
        ["--decoder-self-attention-layers", "1"],
        ["--decoder-self-attention-layers", "standard"],
    ),
    "a weight of nothing": (ARCH, ["--aux-weight", "0.5"], ["--aux-weight", "--aux-layers"]),
    "a setting of another kind": (
        ARCH,
        ["--xagg-iterations", "9"],
        ["--xagg-iterations", "--encoder-self-attention cross_aggregation"],
    ),
    "a decoding flag": (ARCH, ["--no-aux-fusion"], ["--no-aux-fusion", "not for training"]),
    "an unknown length penalty": (
        ARCH,
        ["--length-penalty", "google"],
        ["--length-penalty", "'google'", "fairseq, wu"],
    ),
    "a stock criterion, which ignores auxiliary decoders": (
        AUXILIARY,
        ["--criterion", "label_smoothed_cross_entropy"],
        ["--criterion", "label_smoothed_cross_entropy", "transformer_ms_aux"],
    ),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_training_flags(case, corpus, tmp_path):
    arch, flags, pieces = SETTINGS[case]
    save = tmp_path / "save"
    result = run(tmp_path, "train", *training(corpus, save, *family(arch), *flags))
    assert_explained(result, *pieces)
    assert not list(save.glob("*"))


def test_several_problems_are_told_at_once(corpus, tmp_path):
    flags = ["--dc-kernel-size", 0, "--encoder-embed-dim", 9, "--activation-fn", "relv"]
    result = run(tmp_path, "train", *training(corpus, tmp_path / "s", *family(ARCH), *flags))
    assert result.code == 1
    for piece in ("--dc-kernel-size", "--encoder-attention-heads", "--activation-fn"):
        assert piece in result.errors


def write_truncated(path, good):
    path.write_bytes(good.read_bytes()[:50_000])


def write_foreign_dictionary(path, good):
    torch.save({"weights": torch.zeros(3), "epoch": 3}, path)


def write_foreign_tensor(path, good):
    torch.save(torch.zeros(3), path)


def write_text(path, good):
    path.write_text("this is not a checkpoint\n")


def write_nothing(path, good):
    path.touch()


BROKEN = [
    write_truncated,
    write_foreign_dictionary,
    write_foreign_tensor,
    write_text,
    write_nothing,
]


@pytest.mark.parametrize("write", few(BROKEN, write_truncated, write_nothing))
def test_broken_checkpoints(write, corpus, trained, tmp_path):
    """Neither translated with nor resumed from, nor replaced."""
    path = tmp_path / "checkpoint_last.pt"
    write(path, trained(ARCH) / "checkpoint_last.pt")
    before = path.read_bytes()
    generated = run(tmp_path, "generate", *generation(corpus, path, ARCH))
    assert_explained(generated, path)
    resumed = train(corpus, tmp_path, ARCH, "--max-epoch", 2)
    assert_explained(resumed, path)
    assert path.read_bytes() == before


# what the save folder's checkpoints do not fit → (architecture, flags, what the sentence names)
MISFITS = {
    "another architecture": ("transformer_standard", [], ["'transformer_dc'", "--save-dir"]),
}


@pytest.mark.parametrize("case", MISFITS)
def test_a_save_folder_with_other_checkpoints(case, corpus, trained, tmp_path):
    arch, flags, pieces = MISFITS[case]
    save = tmp_path / "save"
    shutil.copytree(trained(ARCH), save)
    before = {path.name: path.read_bytes() for path in save.glob("*.pt")}
    result = train(corpus, save, arch, *flags, "--max-epoch", 2)
    assert_explained(result, save, *pieces)
    assert {path.name: path.read_bytes() for path in save.glob("*.pt")} == before


def full_disk(limit):
    """Let no file of this process grow beyond `limit` bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


@pytest.mark.thorough
def test_a_full_disk_leaves_the_last_good_checkpoint(corpus, trained, tmp_path):
    save = tmp_path / "save"
    shutil.copytree(trained(ARCH), save)
    before = {path.name: path.read_bytes() for path in save.glob("*.pt")}
    size = len(before["checkpoint_last.pt"])
    flags = training(corpus, save, *family(ARCH), "--max-epoch", 2, "--log-format", "none")
    failed = run(tmp_path, "train", *flags, before=lambda: full_disk(size - 1000))
    assert_explained(failed, save / "checkpoint2.pt", "could not be saved", "same command")
    assert {path.name: path.read_bytes() for path in save.glob("*.pt")} == before
    assert not list(save.glob("*.tmp"))
    resumed = run(tmp_path, "train", *flags).good()
    assert "Loaded checkpoint" in resumed.output
    state = torch.load(save / "checkpoint_last.pt", weights_only=True)
    assert state["extra_state"]["train_iterator"]["epoch"] == 3


def fail(rank):
    """What a spawned process does."""
    raise ConfigError(["--this: is wrong.", "--that: too."])


def test_a_spawned_process(tmp_path):
    """torch hands over the text of its traceback alone."""
    spawn = {"nprocs": 1, "start_method": "fork"}  # fork: importing takes long
    result = run(tmp_path, "train", before=lambda: start_processes(fail, **spawn))
    assert result.code == 1
    assert result.errors == "error: --this: is wrong.\n--that: too.\n"
