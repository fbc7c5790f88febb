"""What cannot work ends with one clear sentence, a non-zero status and nothing half-written."""

from __future__ import annotations

import shutil

import pytest
from commands import assert_explained, run
from systems import family, generation, train, training

ARCH = "transformer_dc"
AUXILIARY = "transformer_ms_aux_aif"


# what is wrong → (architecture, flags, what the sentence must name)
SETTINGS = {
    "an unknown kind": (
        ARCH,
        ["--encoder-self-attention", "dual_contxt"],
        ["--encoder-self-attention", "'dual_contxt'", "standard, dual_context", "Did you mean"],
    ),
    "a weight of nothing": (ARCH, ["--aux-weight", "0.5"], ["--aux-weight", "--aux-layers"]),
    "a setting of another kind": (
        ARCH,
        ["--xagg-iterations", "9"],
        ["--xagg-iterations", "--encoder-self-attention cross_aggregation"],
    ),
    "a decoding flag": (ARCH, ["--no-aux-fusion"], ["--no-aux-fusion", "not for training"]),
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


@pytest.mark.parametrize("size", [0, 50_000])
def test_broken_checkpoints(size, corpus, trained, tmp_path):
    """Neither translated with nor resumed from, nor replaced."""
    path = tmp_path / "checkpoint_last.pt"
    before = (trained(ARCH) / "checkpoint_last.pt").read_bytes()[:size]
    path.write_bytes(before)
    generated = run(tmp_path, "generate", *generation(corpus, path, ARCH))
    assert_explained(generated, path)
    resumed = train(corpus, tmp_path, ARCH, "--max-epoch", 2)
    assert_explained(resumed, path)
    assert path.read_bytes() == before


def test_a_save_folder_with_other_checkpoints(corpus, trained, tmp_path):
    save = tmp_path / "save"
    shutil.copytree(trained(ARCH), save)
    before = {path.name: path.read_bytes() for path in save.glob("*.pt")}
    result = train(corpus, save, "transformer_standard", "--max-epoch", 2)
    assert_explained(result, save, "'transformer_dc'", "--save-dir")
    assert {path.name: path.read_bytes() for path in save.glob("*.pt")} == before
