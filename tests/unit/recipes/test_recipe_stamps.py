"""What is stamped: every word that a result depends on, in order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from records import write_run

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.files import sha256
from dc_nmt_plugin.recipes.preparation import Preparation
from dc_nmt_plugin.recipes.recipe import SPLITS, Segmentation
from dc_nmt_plugin.recipes.scoring import evaluation
from dc_nmt_plugin.recipes.training import PlannedRun, share_out, training_step
from dc_nmt_plugin.steps import stamp_of
from dc_nmt_plugin.text import TextSettings

TEXTS = [f"{split}.{language}" for split in ("train", "valid", "test") for language in ("en", "de")]


def test_prepared_text(tmp_path):
    """A change here makes prepared text, and the runs on it, look like others."""
    raw = tmp_path / "raw"
    raw.mkdir()
    for name in TEXTS:
        (raw / name).write_text(f"of {name}\n")
    recipe = SimpleNamespace(
        pair=("en", "de"), splits=SPLITS, task=SimpleNamespace(text=TextSettings(casing="lower"))
    )
    segmentation = Segmentation(
        name="y", operations=7, joint=False, dictionary="separate", max_tokens=50, ratio=1.5
    )
    text = Preparation(recipe, tmp_path, None, [segmentation])
    cut = "7 codes-apart dictionaries-apart 50 1.5"
    expected = stamp_of(
        [stamp_of(sha256(raw / name) for name in TEXTS), "en", "de", "moses lower", cut]
    )
    steps = list(text.steps())[1:]
    assert [step.stamp() for step in steps] == [expected] * 2
    assert [step.folder.name for step in steps] == ["bpe-y", "bin-y"]


def run_in(folder, average):
    data = folder / "raw", folder / "bpe", folder / "bin"
    return PlannedRun("arch", "task", "criterion", "en", "de", *data, folder, average, (), ())


def test_a_finished_training_is_not_replaced_when_its_checkpoints_are_gone(tmp_path):
    """Their mean, translation and scores are still there."""
    run = run_in(tmp_path, 5)
    for name in ("settings.stamp", "training.stamp"):
        (tmp_path / name).write_text("9-9\n")
    (tmp_path / "train.log").write_text("of ten hours\n")
    with pytest.raises(UserError, match="has a run with other data or settings"):
        training_step(run, 10, 5, ("--dropout", "0.3"), (), share_out(512, 1, 512)).make()
    assert (tmp_path / "train.log").read_text() == "of ten hours\n"


def averaged(run):
    """What the mean is of, as the command names it."""
    words = next(evaluation(run)).commands(run.folder / "average")[0].words
    return [Path(word).name for word in words[2:-2]]


def test_the_mean_counts_no_update_twice(tmp_path, capsys):
    run = run_in(tmp_path, 3)
    for name in ("settings.stamp", "training.stamp"):
        (tmp_path / name).write_text("9-9\n")
    write_run(tmp_path, "arch", flags="--max-update 40")
    (tmp_path / "checkpoints").mkdir()
    updates = ["checkpoint_1_20.pt", "checkpoint_2_30.pt"]
    for name in [*updates, "checkpoint_last.pt"]:
        (tmp_path / "checkpoints" / name).touch()
    assert averaged(run) == [*updates, "checkpoint_last.pt"]
    (tmp_path / "checkpoints/checkpoint_2_40.pt").touch()
    assert averaged(run) == ["checkpoints", "--last", "3", "--kind", "update"]
    assert averaged(replace(run, average=4)) == [*updates, "checkpoint_2_40.pt"]
    assert "3 of 4 update checkpoints" in capsys.readouterr().err
    # each step is made again where its result would be another one
    steps = [step.stamp() for step in evaluation(run)]
    for changed, setting in enumerate([{"average": 2}, {"decode": ("--beam",)}, {"score": ("x",)}]):
        others = [step.stamp() for step in evaluation(replace(run, **setting))]
        same = [one == other for one, other in zip(steps, others, strict=True)]
        assert same == [place < changed for place in range(3)]
