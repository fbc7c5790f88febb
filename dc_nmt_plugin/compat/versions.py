"""Changes without which fairseq fails on today's Python, numpy and machines."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from typing import Any

import numpy as np

from .change import Function, change, replace


@change(
    "numpy:compat",
    reason="fairseq reads np.compat.long (language models, --sample-break-mode eos) and np.int, "
    "which numpy removed",
    since="numpy 1.24, 2.0",
    test="tests/system/test_language_model.py",
    loading=True,
)
def restore_numpy_names() -> None:
    if not hasattr(np, "compat"):
        setattr(np, "compat", argparse.Namespace(long=int))  # noqa: B010
    if "int" not in np.__dict__:
        setattr(np, "int", int)  # noqa: B010


@replace(
    {"fairseq.data.bucket_pad_length_dataset:get_buckets": "81dabf2c250b"},
    reason="--num-batch-buckets ends in a TypeError: numpy's percentile has another name for "
    "'interpolation'",
    since="numpy 2.4",
    test="tests/system/test_sentences.py",
)
def name_the_method(stock: Function) -> Function:
    def get_buckets(sizes: Any, num_buckets: int) -> Any:
        ends = np.linspace(0, 100, num_buckets + 1)[1:]
        return np.unique(np.percentile(sizes, ends, method="lower"))

    return get_buckets


@change(
    "multiprocessing:set_start_method",
    reason="workers of loaders and fairseq-preprocess are no forks: each imports torch and fairseq",
    since="Python 3.14 on Linux",
    test="tests/unit/compat/test_changes.py",
)
def fork_workers() -> None:
    method = multiprocessing.get_start_method(allow_none=True)
    new_default = sys.version_info >= (3, 14) and sys.platform == "linux"
    if new_default and method in (None, "forkserver"):
        multiprocessing.set_start_method("fork", force=True)
