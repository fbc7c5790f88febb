"""What decides whether a step is done: stamps of the text, and the record of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from records import change, write_run

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.flags import typed_flags
from dc_nmt_plugin.laboratory.recipes.done import is_averaged, is_trained_so
from dc_nmt_plugin.laboratory.recipes.planned import PlannedDecoding, PlannedRun, PreparedText
from dc_nmt_plugin.laboratory.recipes.recipe import Segmentation, set_values
from dc_nmt_plugin.laboratory.recipes.scoring import evaluation_stage
from dc_nmt_plugin.runs.record import Segment, Training, read_record

FLAGS = "--dropout 0.3 --max-update 40 --max-tokens 512 --update-freq 2 --cpu --seed 1"


@pytest.fixture
def run(tmp_path):
    """A run of 40 updates that is finished."""
    write_run(tmp_path / "run", "arch", FLAGS, updates=40)
    (tmp_path / "run/checkpoints").mkdir()
    text = PreparedText("en", "de", tmp_path / "data", "")
    return PlannedRun("arch", "task", "criterion", text, tmp_path / "run")


@pytest.fixture
def decoding(run):
    return PlannedDecoding(run, "", "test", "test", 3, run.folder / "average", (), ())


def test_a_segmentation_is_stamped_by_what_it_sets():
    """A new setting with a default must not prepare every text again."""
    cut = Segmentation(name="y", operations=7, joint=False, max_tokens=50)
    assert set_values(cut) == {"operations": 7, "joint": False, "max_tokens": 50}


def asked(run, flags, tokens=1024, any_precision=True):
    settings = typed_flags(f"--arch arch {flags}".split())
    return is_trained_so(run, settings, tokens, any_precision=any_precision)


def test_a_training_is_done_if_its_record_has_the_same_settings(run):
    assert asked(run, FLAGS)
    reordered = "--seed 1 --max-update=40 --dropout 0.3"
    # what the machine decides does not make it another training; tokens are rounded
    machine = "--max-tokens 341 --distributed-world-size 3 --amp --num-workers 0"
    assert asked(run, f"{reordered} {machine} --save-interval-updates 7", 1023)
    assert not asked(replace(run, folder=run.folder.parent / "other"), FLAGS)


def test_a_precision_that_the_user_chose_makes_it_another_training(run):
    assert asked(run, FLAGS, any_precision=False)
    with pytest.raises(UserError, match="amp not given there, given now"):
        asked(run, f"{FLAGS} --amp", any_precision=False)


@pytest.mark.parametrize(
    ("flags", "tokens", "named"),
    [
        (FLAGS.replace("0.3", "0.1"), 1024, "dropout 0.3 there, 0.1 now"),
        (f"{FLAGS} --fp16", 1024, "fp16 not given there, given now"),
        (FLAGS.replace("--dropout 0.3 ", ""), 1024, "dropout 0.3 there, not given now"),
        (FLAGS, 2048, "tokens of an update 1024 there, 2048 now"),
    ],
)
def test_a_folder_with_another_training_is_refused_with_the_difference(run, flags, tokens, named):
    """Also if its checkpoints are gone: their mean, translation and scores are still there."""
    with pytest.raises(UserError, match="has a run with other data or settings") as error:
        asked(run, flags, tokens)
    assert named in str(error.value)
    change(run.folder, training=Training(updates=20, tokens=1024))
    assert not asked(run, flags, tokens), "without checkpoints nothing of it can be lost"


def test_a_training_whose_settings_were_changed_is_another_one(run):
    before = {**read_record(run.folder).settings, "dropout": 0.1}
    change(run.folder, segments=(Segment(20, before),))
    with pytest.raises(UserError, match=r"dropout 0\.1 until update 20, then 0\.3 there"):
        asked(run, FLAGS)


def test_a_training_that_ended_by_itself_is_done(run):
    change(run.folder, training=Training(updates=20, tokens=1024))
    (run.checkpoints / "checkpoint_last.pt").touch()
    assert not asked(run, FLAGS)
    (run.folder / "train.log").write_text("early stop\n… | done training in 3.1 seconds\n")
    assert asked(run, FLAGS)
    with open(run.folder / "train.log", "a") as log:  # begun again, with more --patience
        log.write("an update\n" * 30)
    assert not asked(run, FLAGS)


def test_a_training_that_was_killed_before_its_last_checkpoint_is_not_done(run):
    """The record has counted the last update already, as it is validated before it is saved."""
    (run.folder / "train.log").write_text('{"valid_loss": "7.6", "valid_num_updates": "40"}\n')
    assert not asked(run, FLAGS)


def averaged(decoding):
    """What the mean is of, as the command names it."""
    stage = evaluation_stage(decoding)
    (line,) = stage.steps[0].lines(decoding.mean)
    return [word.rpartition("/")[2] for word in line.words[2:-2]], stage


def test_the_mean_counts_no_update_twice(run, decoding):
    updates = ["checkpoint_1_20.pt", "checkpoint_2_30.pt"]
    for name in [*updates, "checkpoint_last.pt"]:
        (run.checkpoints / name).touch()
    names, stage = averaged(decoding)
    assert names == [*updates, "checkpoint_last.pt"]
    assert "2 of 3 update checkpoints" in stage.notes[0]
    (run.checkpoints / "checkpoint_2_40.pt").touch()
    assert averaged(decoding)[0] == ["checkpoints", "--last", "3", "--kind", "update"]
    assert averaged(replace(decoding, average=4))[0] == [*updates, "checkpoint_2_40.pt"]


def save(path, updates, names=()):
    path.parent.mkdir(exist_ok=True)
    state = {"model": {"x": torch.zeros(1)}, "optimizer_history": [{"num_updates": updates}]}
    torch.save({**state, "averaged_checkpoints": list(names)}, path)


def test_the_mean_is_made_again_if_it_is_not_of_the_last_checkpoints(run, decoding):
    names = [f"checkpoint_1_{number}.pt" for number in (10, 20, 30, 40)]
    for number, name in zip((10, 20, 30, 40), names, strict=True):
        save(run.checkpoints / name, number)
    assert not is_averaged(decoding)
    save(decoding.checkpoint, 40, names[1:])
    assert is_averaged(decoding)
    assert not is_averaged(replace(decoding, average=2))
    save(decoding.checkpoint, 30, names[:3])
    assert not is_averaged(decoding)
    for name in names:
        (run.checkpoints / name).unlink()
    assert is_averaged(decoding), "the checkpoints are gone"
    assert not is_averaged(replace(decoding, average=2))
    best = replace(decoding, average=0)
    save(run.checkpoints / "checkpoint_best.pt", 30)
    save(decoding.checkpoint, 20, ["checkpoint_best.pt"])
    assert not is_averaged(best), "a later one is the best now"
    save(decoding.checkpoint, 30, ["checkpoint_best.pt"])
    assert is_averaged(best) and not is_averaged(decoding)
    assert read_record(run.folder).decodings == ()
