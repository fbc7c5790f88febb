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
