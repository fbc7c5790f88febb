"""Patches of how fairseq reads data and makes batches."""

from __future__ import annotations

import atexit
import contextlib
import queue
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ..errors import ConfigError
from ..gate.run_checks import check_training_run
from .patch import replaces


@replaces(
    "fairseq.data.data_utils:batch_by_size",
    "6daaa2ff6c3b",
    reason="the last batch is dropped unless its size is a multiple of "
    "--required-batch-size-multiple: sentences are neither trained on nor translated",
    since="fairseq-fixed 0.12.3.1",
    test="tests/system/test_sentences.py",
    loading=True,
)
def keep_every_sentence(stock: Callable[..., Sequence[Any]]) -> Callable[..., list[Any]]:
    def batch_by_size(indices: Any, *args: Any, **kwargs: Any) -> list[Any]:
        if not isinstance(indices, np.ndarray):
            indices = np.fromiter(indices, dtype=np.int64, count=-1)
        if len(indices) == 0:
            return []
        batches = list(stock(indices, *args, **kwargs))
        fixed_shapes = kwargs.get("fixed_shapes", args[5] if len(args) > 5 else None)
        batched = sum(len(batch) for batch in batches)
        if fixed_shapes is None and batched < len(indices):
            batches.append(indices[batched:])
        return batches

    return batch_by_size


@replaces(
    "fairseq.data.bucket_pad_length_dataset:get_buckets",
    "81dabf2c250b",
    reason="--num-batch-buckets ends in a TypeError: numpy's percentile has another name for "
    "'interpolation'",
    since="numpy 2.4",
    test="tests/system/test_sentences.py",
)
def name_the_method(stock: Callable[..., Any]) -> Callable[..., Any]:
    def get_buckets(sizes: Any, num_buckets: int) -> Any:
        ends = np.linspace(0, 100, num_buckets + 1)[1:]
        return np.unique(np.percentile(sizes, ends, method="lower"))

    return get_buckets


@replaces(
    "fairseq.tasks.fairseq_task:FairseqTask.get_batch_iterator",
    "07e39c9b6183",
    reason="loaders of a task that makes a new one for every epoch leave their workers running, "
    "each with a copy of all memory that training has overwritten since",
    since="fairseq-fixed 0.12.3.1, torch's persistent_workers",
    test="tests/system/test_use.py",
)
def end_workers_with_their_epoch(stock: Callable[..., Any]) -> Callable[..., Any]:
    def get_batch_iterator(self: Any, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        epochs = stock(self, dataset, *args, **kwargs)
        if self.dataset_to_epoch_iter.get(dataset) is not epochs:  # nobody asks for it again
            epochs.persistent_workers = False
            # without a consumer's thread, a loader does not stop its workers after the last batch,
            # and later waits five seconds for each worker
            epochs.buffer_size = max(epochs.buffer_size, 1)
        return epochs

    return get_batch_iterator


_readers: weakref.WeakSet[Any] = weakref.WeakSet()  # threads that read batches ahead


@replaces(
    "fairseq.data.iterators:BufferedIterator._create_consumer",
    "c0861cb6d94c",
    reason="a program that ends while a thread of its own still reads batches is aborted: "
    '"terminate called without an active exception", status 134, after --max-update for example',
    since="fairseq 0.12.2",
    test="tests/system/test_reading.py",
)
def end_readers_with_their_program(stock: Callable[..., None]) -> Callable[..., None]:
    def _create_consumer(self: Any) -> None:
        stock(self)
        _readers.add(self._consumer)

    atexit.register(_end_readers)
    return _create_consumer


def _end_readers(seconds: float = 5.0) -> None:
    """Ends all threads that read ahead, each after its current batch.

    A thread that returns from torch after the interpreter's end makes C++ abort.

    Args:
        seconds: time limit for all threads together
    """
    until = time.monotonic() + seconds
    for reader in list(_readers):
        reader._max_len = 0
        while reader.is_alive() and time.monotonic() < until:
            with contextlib.suppress(queue.Empty):  # makes room for the batch it waits with
                reader._queue.get_nowait()
            reader.join(0.01)


@replaces(
    "fairseq.tasks.language_modeling:LanguageModelingTask.can_reuse_epoch_itr",
    "4c8cf097cc23",
    reason="batches kept from the first epoch repeat it, and a resumed run composes others",
    since="fairseq 0.12.2",
    test="tests/system/test_language_model.py",
)
def new_batches_for_each_epoch(stock: Callable[..., bool]) -> Callable[..., bool]:
    def can_reuse_epoch_itr(self: Any, dataset: Any) -> bool:
        return False

    return can_reuse_epoch_itr


@replaces(
    "fairseq.tasks.language_modeling:LanguageModelingTask.setup_task",
    "9d7f47a95374",
    reason="--tokens-per-sample below 1 hangs",
    since="fairseq 0.12.2",
    test="tests/system/test_language_model.py",
)
def check_blocks(stock: Callable[..., Any]) -> Callable[..., Any]:
    def setup_task(cls: Any, args: Any, **kwargs: Any) -> Any:
        length = getattr(args, "tokens_per_sample", 1)
        if length < 1:
            raise ConfigError([f"--tokens-per-sample: {length} is not at least 1."])
        return stock(cls, args, **kwargs)

    return setup_task


@replaces(
    "fairseq.tasks.language_modeling:LanguageModelingTask.build_model",
    "f0365053204b",
    reason="half precision on a CPU and targets that the model does not have fail much later",
    since="fairseq 0.12.2",
    test="tests/system/test_language_model.py",
)
def check_language_model(stock: Callable[..., Any]) -> Callable[..., Any]:
    def build_model(self: Any, args: Any, from_checkpoint: bool = False) -> Any:
        if not from_checkpoint:
            check_training_run(args)
        try:
            return stock(self, args, from_checkpoint)
        except ValueError as error:
            if not str(error).startswith("Unsupported language modeling target"):
                raise
            name = str(error).split()[-1]
            raise ConfigError(
                [f"--{name}-target: this model predicts the next word only; leave the flag out."]
            ) from error

    return build_model


@replaces(
    "fairseq.data.dictionary:Dictionary.string",
    "d25a7330674f",
    reason="each token of a tensor is six operations: fairseq-generate and --eval-bleu wait for a "
    "GPU that often, and on a CPU spend twenty times as long on it as on numbers",
    since="fairseq 0.12.2",
    test="tests/unit/patches/test_reading_patches.py",
    loading=True,
)
def read_a_sentence_at_once(stock: Callable[..., str]) -> Callable[..., str]:
    def string(self: Any, tensor: Any, *args: Any, **kwargs: Any) -> str:
        if torch.is_tensor(tensor) and tensor.dim() == 1:
            tensor = tensor.tolist()
        return stock(self, tensor, *args, **kwargs)

    return string
