"""Patches of torch, numpy, Python's hooks and the C library."""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import sys
import warnings

import numpy as np
import torch

from ..allocator import keep_freed_memory
from ..errors import debugging, install_excepthook
from ..gate.explanations import explained
from .patch import changes

# Warnings that a user of fairseq cannot avoid: category and beginning of each message.
_NOISE = (
    # torch ≥ 2.14, of every function that fairseq scripts, at its import
    (FutureWarning, r"`torch\.jit\.script"),
    # torch ≥ 2.0, of the masks that fairseq's own Transformer gives to its attention
    (UserWarning, "Support for mismatched key_padding_mask"),
    # torch ≥ 2.4, of fairseq's training step
    (FutureWarning, r"`torch\.cuda\.amp\.autocast"),
    (FutureWarning, r"`torch\.cuda\.amp\.GradScaler"),
    # torch, of fairseq's pinned memory on a machine without a GPU
    (UserWarning, "'pin_memory' argument is set as true"),
    # Hydra ≥ 1.1, of how fairseq calls it, at the start of every command
    (UserWarning, r"hydra\.experimental\."),
    (UserWarning, r"\s*The version_base parameter is not specified"),
    (UserWarning, r"In 'config': Usage of deprecated keyword"),
    (UserWarning, r"\s*'config' is validated against ConfigStore"),
    (UserWarning, r"\s*The strict flag in the compose API is deprecated"),
)


@changes(
    "warnings:filters",
    reason="torch and Hydra warn at every start of fairseq's calls, which no user can change",
    since="torch 2.0, Hydra 1.1",
    test="tests/unit/patches/test_patches.py",
)
def quiet_warnings() -> None:
    for category, message in _NOISE:
        warnings.filterwarnings("ignore", message, category)


@changes(
    "multiprocessing:set_start_method",
    reason="workers of loaders and fairseq-preprocess are no forks: each imports torch and fairseq",
    since="Python 3.14 on Linux",
    test="tests/unit/patches/test_start.py",
    needed=lambda: (
        sys.version_info >= (3, 14)
        and sys.platform == "linux"
        and multiprocessing.get_start_method(allow_none=True) in (None, "forkserver")
    ),
)
def fork_workers() -> None:
    multiprocessing.set_start_method("fork", force=True)


@changes(
    "sys:excepthook",
    reason="a failure that the user can correct ends with one sentence instead of a traceback",
    since="Python 3",
    test="tests/system/test_refusals.py",
)
def explain_failures() -> None:
    install_excepthook(explained)


@changes(
    "logging:raiseExceptions",
    reason="a log that cannot be written (full disk) prints a traceback for every line",
    since="Python 3",
    test="tests/system/test_bad_input.py",
)
def keep_logging_quiet() -> None:
    logging.raiseExceptions = debugging()


@changes(
    "torch.backends.cuda:enable_cudnn_sdp",
    reason="cuDNN's attention makes a plan for every new shape, and batches of sentences have new "
    "shapes all the time",
    since="torch 2.5 with half precision on an H100 or later",
    test="tests/unit/patches/test_gpu_patches.py",
)
def no_cudnn_attention() -> None:
    torch.backends.cuda.enable_cudnn_sdp(False)


# functions of an optimizer that torch keeps out of compiled models
_NOT_COMPILED = ("add_param_group", "zero_grad", "state_dict", "load_state_dict")


@changes(
    "torch.optim:Optimizer",
    reason="the first optimizer imports torch's compiler and SymPy, a fifth of a training run's "
    "start, to keep four functions out of compiled models; fairseq compiles none",
    since="torch 2.2",
    test="tests/unit/patches/test_start.py",
    needed=lambda: (
        "torch._dynamo" not in sys.modules
        and hasattr(torch.optim.Optimizer.add_param_group, "__wrapped__")
    ),
)
def optimizers_without_compiler() -> None:
    for name in _NOT_COMPILED:
        function = getattr(getattr(torch.optim.Optimizer, name), "__wrapped__", None)
        if function is not None:  # torch._compile looks for its own function here
            vars(function).setdefault("__dynamo_disable", function)


@changes(
    "libc:mallopt",
    reason="glibc returns freed tensors to the system, which clears each page for the next one",
    since="glibc; on a machine with a GPU PyTorch has an allocator of its own",
    test="tests/unit/test_allocator.py",
    needed=lambda: not torch.cuda.is_available(),
)
def keep_freed_tensors() -> None:
    keep_freed_memory()


@changes(
    "numpy:int",
    reason="fairseq reads np.int, which numpy removed",
    since="numpy 1.24",
    test="tests/system/test_language_model.py",
    loading=True,
    needed=lambda: "int" not in np.__dict__,
)
def restore_numpy_int() -> None:
    setattr(np, "int", int)  # noqa: B010


@changes(
    "numpy:compat",
    reason="fairseq's --sample-break-mode eos reads np.compat.long, which numpy removed",
    since="numpy 2.0",
    test="tests/system/test_language_model.py",
    loading=True,
    needed=lambda: not hasattr(np, "compat"),
)
def restore_numpy_compat() -> None:
    setattr(np, "compat", argparse.Namespace(long=int))  # noqa: B010
