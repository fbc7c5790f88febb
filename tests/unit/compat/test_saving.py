"""A checkpoint is saved whole, by another try if need be, or not at all."""

from __future__ import annotations

import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from dc_nmt_plugin.compat import saving
from dc_nmt_plugin.errors import UserError

STATE = {"model": {"w": torch.arange(1000.0)}}


@pytest.fixture
def a_disk_that_fails(monkeypatch):
    """Number of failing tries, set by the test: each writes half a checkpoint first."""
    monkeypatch.setattr(saving, "PAUSE", 0)
    left, save = [0], torch.save

    def failing(state, stream):
        if left[0]:
            left[0] -= 1
            stream.write(b"half a checkpoint")
            raise OSError(5, "Input/output error")
        save(state, stream)

    monkeypatch.setattr(torch, "save", failing)
    return left


@pytest.mark.parametrize("failures", [0, 1, 2])
def test_a_disk_that_fails_for_a_moment(failures, a_disk_that_fails, tmp_path):
    a_disk_that_fails[0] = failures
    path = tmp_path / "checkpoint1.pt"
    checkpoint_utils.torch_persistent_save(STATE, str(path))
    loaded = torch.load(path, weights_only=True)
    assert torch.equal(loaded["model"]["w"], STATE["model"]["w"])
    assert path.read_bytes()[:2] == b"PK", "nothing of the failed tries is left in it"
    assert [item.name for item in tmp_path.iterdir()] == ["checkpoint1.pt"]


def test_a_disk_that_goes_on_failing(a_disk_that_fails, tmp_path):
    path = tmp_path / "checkpoint_last.pt"
    path.write_bytes(b"the one before")
    a_disk_that_fails[0] = 3
    with pytest.raises(OSError, match="Input/output error"):
        checkpoint_utils.torch_persistent_save(STATE, str(path))
    assert path.read_bytes() == b"the one before"
    assert [item.name for item in tmp_path.iterdir()] == ["checkpoint_last.pt"]


def test_a_copy_that_fails_leaves_what_was_there(monkeypatch, tmp_path):
    source, target = tmp_path / "checkpoint1.pt", tmp_path / "checkpoint_best.pt"
    source.write_bytes(b"new")
    target.write_bytes(b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(UserError, match=r"checkpoint_best\.pt: No space left on device"):
        PathManager.copy(str(source), str(target), overwrite=True)
    assert target.read_bytes() == b"old"
    assert sorted(tmp_path.iterdir()) == sorted([source, target])
