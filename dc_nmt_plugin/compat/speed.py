"""Changes that make fairseq's programs faster, each by at least a tenth."""

from __future__ import annotations

import ctypes
import os

import torch

from .change import change

# parameters of glibc's malloc.h → values
_MALLOC = {
    -4: 0,  # M_MMAP_MAX: no block of memory is a mapping of its own
    -1: -1,  # M_TRIM_THRESHOLD: nothing is returned before the program ends
}


@change(
    "libc:mallopt",
    reason="glibc returns the logits of a batch to the system, which clears each page of the next "
    "batch's: a sixth of a training step of a small model on a CPU",
    since="glibc",
    test="tests/unit/compat/test_changes.py",
)
def keep_freed_tensors() -> None:
    if any(name.startswith("MALLOC_") for name in os.environ) or "GLIBC_TUNABLES" in os.environ:
        return  # the user has set glibc's allocator
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # another C library has none
        for name, value in _MALLOC.items():
            mallopt(name, value)


@change(
    "torch.backends.cuda:enable_cudnn_sdp",
    reason="cuDNN's attention makes a plan for every new shape, and batches of sentences have new "
    "shapes all the time",
    since="torch 2.5 with half precision on an H100 or later",
    test="tests/unit/compat/test_gpu_patches.py",
)
def no_cudnn_attention() -> None:
    torch.backends.cuda.enable_cudnn_sdp(False)
