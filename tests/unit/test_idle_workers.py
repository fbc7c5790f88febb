"""Workers that load data end with their epoch: each holds a copy of the training's memory."""

from __future__ import annotations

import gc
import multiprocessing

import pytest
from fairseq.data import ListDataset
from fairseq.data.iterators import EpochBatchIterator


@pytest.fixture
def no_collector():
    """As in a training, whose many objects keep Python's collector away."""
    gc.disable()
    yield
    gc.enable()
    gc.collect()


def test_workers_of_past_epochs_end(no_collector):
    before = len(multiprocessing.active_children())
    data = ListDataset(list(range(8)))
    for _ in range(4):  # fairseq makes both anew for an epoch
        epochs = EpochBatchIterator(
            data, list, [[i] for i in range(8)], num_workers=1, buffer_size=2
        )
        batches = epochs.next_epoch_itr(shuffle=False)
        assert [batch for (batch,) in batches] == list(range(8))
        assert len(multiprocessing.active_children()) - before <= 2
