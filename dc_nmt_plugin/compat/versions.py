"""Changes without which fairseq fails on today's Python, numpy and machines."""

from __future__ import annotations

import argparse
import multiprocessing
import sys

import numpy as np

from .change import change


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
