"""What cannot work ends with one clear sentence, a non-zero status and nothing half-written."""

from __future__ import annotations

import shutil

import pytest
from commands import assert_explained, run
from systems import generation, train

ARCH = "transformer_dc"

# flags of a training → what the sentence must name
FLAGS = {
    "--encoder-self-attention dual_contxt": [
        *("--encoder-self-attention", "'dual_contxt'", "standard, dual_context", "Did you mean"),
    ],
    "--xagg-iterations 9": ["--xagg-iterations", "--encoder-self-attention cross_aggregation"],
}


@pytest.mark.parametrize("flags", FLAGS)
def test_training_flags(flags, corpus, tmp_path):
    save = tmp_path / "save"
    assert_explained(train(corpus, save, ARCH, *flags.split()), *FLAGS[flags])
    assert not list(save.glob("*.pt"))


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
    flags = ["--encoder-attention-heads", 4, "--positions", "rotary"]
    result = train(corpus, save, ARCH, *flags, "--max-epoch", 2)
    assert_explained(result, save, "another --encoder-attention-heads, --positions; give")
    assert {path.name: path.read_bytes() for path in save.glob("*.pt")} == before
    train(corpus, save, ARCH, "--dropout", 0.3, "--max-epoch", 2).good()


def test_a_run_that_fails_in_its_first_update_has_no_record(corpus, tmp_path):
    criterion = ["--criterion", "label_smoothed_cross_entropy_with_rdrop"]
    result = train(corpus, tmp_path, "transformer_ms_aux", "--aux-layers", 1, *criterion)
    assert_explained(result, "auxiliary decoders of --aux-layers")
    assert not list(tmp_path.glob("run.json")) and not list(tmp_path.glob("curve.log"))
