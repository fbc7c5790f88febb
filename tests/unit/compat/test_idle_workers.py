"""Workers that load data end with their epoch: each holds a copy of the training's memory."""

from __future__ import annotations

import argparse
import gc
import multiprocessing

import pytest
from fairseq.data import FairseqDataset
from fairseq.tasks import FairseqTask


class Numbers(FairseqDataset):
    """The numbers from 0, one a batch."""

    def __getitem__(self, index):
        return index

    def __len__(self):
        return 8

    def collater(self, samples):
        return samples

    def num_tokens(self, index):
        return 1

    size = num_tokens


class Task(FairseqTask):
    """Makes a loader for every epoch, or keeps the first one."""

    def __init__(self, keep):
        super().__init__(argparse.Namespace())
        self.keep = keep

    def can_reuse_epoch_itr(self, dataset):
        return self.keep


def loader(task, data, workers, buffer_size):
    return task.get_batch_iterator(
        data, max_sentences=1, num_workers=workers, data_buffer_size=buffer_size
    )


@pytest.fixture
def impatient(monkeypatch):
    """Loaders kill workers that do not end, after a tenth of a second instead of five."""
    monkeypatch.setattr("torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL", 0.1)


@pytest.fixture
def no_collector():
    """Many objects, as in a training run, delay Python's collector."""
    gc.disable()
    yield
    gc.enable()
    gc.collect()


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("buffer_size", [0, 2])
def test_workers_of_past_epochs_end(impatient, no_collector, buffer_size, keep):
    """Those of a loader that is used again live on."""
    before = len(multiprocessing.active_children())
    data, task = Numbers(), Task(keep)
    for _ in range(4):
        batches = loader(task, data, 1, buffer_size).next_epoch_itr(shuffle=False)
        assert [batch for (batch,) in batches] == list(range(8))
        assert len(multiprocessing.active_children()) - before <= 2
