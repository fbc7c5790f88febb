"""Workers that load data end with their epoch: each holds a copy of the training's memory."""

from __future__ import annotations

import gc
import multiprocessing
import time

import pytest
from fairseq.data import ListDataset
from fairseq.data.iterators import EpochBatchIterator


@pytest.fixture
def impatient(monkeypatch):
    """Loaders kill workers that do not end, after a tenth of a second instead of five."""
    monkeypatch.setattr("torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL", 0.1)


@pytest.fixture
def no_collector():
    """As in a training, whose many objects keep Python's collector away."""
    gc.disable()
    yield
    gc.enable()
    gc.collect()


@pytest.mark.parametrize("buffer_size", [0, 2])
def test_workers_of_past_epochs_end(impatient, no_collector, buffer_size):
    before = len(multiprocessing.active_children())
    data = ListDataset(list(range(8)))
    for _ in range(4):  # fairseq makes both anew for an epoch
        epochs = EpochBatchIterator(
            data, list, [[i] for i in range(8)], num_workers=1, buffer_size=buffer_size
        )
        batches = epochs.next_epoch_itr(shuffle=False)
        assert [batch for (batch,) in batches] == list(range(8))
        assert len(multiprocessing.active_children()) - before <= 2


@pytest.mark.parametrize("count", [1, 2])
def test_workers_end_by_themselves(no_collector, monkeypatch, count):
    """Told to, where the collector would leave the loader waiting for them and then kill them."""
    monkeypatch.setattr("torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL", 60)  # before it kills
    data = ListDataset(list(range(8)))
    epochs = EpochBatchIterator(
        data, list, [[i] for i in range(8)], num_workers=count, buffer_size=2
    )
    before = multiprocessing.active_children()
    batches = epochs.next_epoch_itr(shuffle=False)
    assert next(batches) == [0]
    workers = [w for w in multiprocessing.active_children() if w not in before]
    assert len(workers) == count
    assert len(list(batches)) == 7
    deadline = time.monotonic() + 30
    while None in [worker.exitcode for worker in workers] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [worker.exitcode for worker in workers] == [0] * count
