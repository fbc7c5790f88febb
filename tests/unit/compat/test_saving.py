"""A checkpoint is saved whole, by another try if need be, or not at all."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.dataclass.configs import CheckpointConfig
from fairseq.file_io import PathManager

from dc_nmt_plugin.compat import saving
from dc_nmt_plugin.compat.beginning import lock_folder
from dc_nmt_plugin.errors import UserError

STATE = {"model": {"w": torch.arange(1000.0)}}


@pytest.fixture
def a_disk_that_fails(monkeypatch):
    """Errors of the next tries, set by the test: each writes half a checkpoint first."""
    monkeypatch.setattr(saving, "PAUSE", 0)
    errors, save = [], torch.save

    def failing(state, stream):
        if errors:
            stream.write(b"half a checkpoint")
            raise errors.pop()
        save(state, stream)

    monkeypatch.setattr(torch, "save", failing)
    return errors


BROKEN = OSError(5, "Input/output error")
FULL = OSError(28, "No space left on device")
# of torch's writer, which keeps the reason for itself
WRITER = RuntimeError("[enforce fail at inline_container.cc:603] . unexpected pos 64 vs 0")


@pytest.mark.parametrize("errors", [[], [BROKEN], [BROKEN, FULL], [WRITER, WRITER]])
def test_a_disk_that_fails_for_a_moment(errors, a_disk_that_fails, tmp_path):
    a_disk_that_fails += errors
    path = tmp_path / "checkpoint1.pt"
    checkpoint_utils.torch_persistent_save(STATE, str(path))
    loaded = torch.load(path, weights_only=True)
    assert torch.equal(loaded["model"]["w"], STATE["model"]["w"])
    assert path.read_bytes()[:2] == b"PK", "nothing of the failed tries is left in it"
    assert [item.name for item in tmp_path.iterdir()] == ["checkpoint1.pt"]


def test_a_disk_that_goes_on_failing(a_disk_that_fails, tmp_path):
    path = tmp_path / "checkpoint_last.pt"
    path.write_bytes(b"the one before")
    a_disk_that_fails += [BROKEN] * 3
    with pytest.raises(OSError, match="Input/output error"):
        checkpoint_utils.torch_persistent_save(STATE, str(path))
    assert path.read_bytes() == b"the one before"
    assert [item.name for item in tmp_path.iterdir()] == ["checkpoint_last.pt"]


def test_a_copy_that_fails_leaves_what_was_there(monkeypatch, tmp_path):
    source, target = tmp_path / "checkpoint1.pt", tmp_path / "checkpoint_best.pt"
    source.write_bytes(b"new")
    target.write_bytes(b"old")
    monkeypatch.setattr("os.replace", Mock(side_effect=FULL))
    with pytest.raises(UserError, match=r"checkpoint_best\.pt: No space left on device"):
        PathManager.copy(str(source), str(target), overwrite=True)
    assert target.read_bytes() == b"old"
    assert sorted(tmp_path.iterdir()) == sorted([source, target])


def test_a_lock_that_cannot_be_opened_stops_no_training(tmp_path):
    """Another user's in the folder of a group; a folder, because root may open all files."""
    (tmp_path / ".lock").mkdir()
    lock_folder(str(tmp_path))


def test_the_best_is_saved_where_nothing_is_copied(monkeypatch, tmp_path):
    flags = {"no_epoch_checkpoints": True, "write_checkpoints_asynchronously": True}
    cfg = CheckpointConfig(save_dir=str(tmp_path), save_interval_updates=3, **flags)
    saved = []
    trainer = Mock(data_parallel_rank=0, checkpoint_suffix="", task=None)
    trainer.get_num_updates.return_value = 6
    trainer.save_checkpoint = lambda path, _: saved.append(path)
    monkeypatch.setattr(checkpoint_utils.save_checkpoint, "best", 2.0, raising=False)
    checkpoint_utils.save_checkpoint(cfg, trainer, Mock(epoch=1), 2.0)  # the end of an epoch
    assert saved == [str(tmp_path / "checkpoint_best.pt")]
