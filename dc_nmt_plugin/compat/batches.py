"""Changes of how fairseq makes and reads batches."""

from __future__ import annotations

import atexit
import contextlib
import queue
import time
import weakref
from typing import Any

from .change import Function, replace


@replace(
    {"fairseq.data.data_utils:batch_by_size": "6daaa2ff6c3b"},
    reason="the last batch is dropped unless its size is a multiple of "
    "--required-batch-size-multiple: sentences are neither trained on nor translated",
    since="fairseq-fixed 0.12.3.1",
    test="tests/system/test_sentences.py",
    loading=True,
)
def keep_every_sentence(stock: Function) -> Function:
    def batch_by_size(indices: Any, *args: Any, **kwargs: Any) -> list[Any]:
        if len(indices) == 0:
            return []
        batches = list(stock(indices, *args, **kwargs))
        batched = sum(len(batch) for batch in batches)
        if batched < len(indices):
            batches.append(indices[batched:])
        return batches

    return batch_by_size


_readers: weakref.WeakSet[Any] = weakref.WeakSet()  # threads that read batches ahead


@replace(
    {"fairseq.data.iterators:BufferedIterator._create_consumer": "c0861cb6d94c"},
    reason="a program that ends while a thread of its own still reads batches is aborted: "
    '"terminate called without an active exception", status 134, after --max-update for example',
    test="tests/system/test_reading.py",
)
def end_readers_with_their_program(stock: Function) -> Function:
    def _create_consumer(self: Any) -> None:
        stock(self)
        _readers.add(self._consumer)

    atexit.register(_end_readers)
    return _create_consumer


def _end_readers(seconds: float = 5.0) -> None:
    """Ends all threads that read ahead, each after its current batch, within some seconds.

    A thread that returns from torch after the interpreter's end makes C++ abort.
    """
    until = time.monotonic() + seconds
    for reader in list(_readers):
        reader._max_len = 0
        while reader.is_alive() and time.monotonic() < until:
            with contextlib.suppress(queue.Empty):  # makes room for the batch it waits with
                reader._queue.get_nowait()
            reader.join(0.01)


@replace(
    {"fairseq.tasks.fairseq_task:FairseqTask.get_batch_iterator": "07e39c9b6183"},
    reason="loaders of past epochs leave their workers running",
    since="fairseq-fixed 0.12.3.1",
    test="tests/unit/compat/test_idle_workers.py",
    after="compose_as_at_the_start",
)
def end_workers_of_past_epochs(stock: Function) -> Function:
    def get_batch_iterator(self: Any, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        epochs = stock(self, dataset, *args, **kwargs)
        if self.dataset_to_epoch_iter.get(dataset) is not epochs:  # for one epoch only
            # each worker has a copy of all memory that training has overwritten since
            epochs.persistent_workers = False
            # without a consumer's thread, a loader does not stop its workers after the last batch,
            # and later waits five seconds for each worker
            epochs.buffer_size = max(epochs.buffer_size, 1)
        return epochs

    return get_batch_iterator


@replace(
    {"fairseq.tasks.language_modeling:LanguageModelingTask.can_reuse_epoch_itr": "4c8cf097cc23"},
    reason="a language model repeats the batches of its first epoch in every epoch",
    test="tests/system/test_continuing.py",
)
def new_batches_for_language_models(_: Function) -> Function:
    def can_reuse_epoch_itr(self: Any, dataset: Any) -> bool:
        return False

    return can_reuse_epoch_itr
