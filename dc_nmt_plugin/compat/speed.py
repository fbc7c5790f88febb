"""Changes that make fairseq's programs faster, each by at least a tenth."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import torch

from .change import change, replace

# parameters of glibc's malloc.h → values
_MALLOC = {
    -4: 0,  # M_MMAP_MAX: no block of memory is a mapping of its own
    -1: -1,  # M_TRIM_THRESHOLD: nothing is returned before the program ends
    -2: 64 * 1024**2,  # M_TOP_PAD: bytes that are asked for at once
}


@replace(
    {"fairseq.data.dictionary:Dictionary.string": "d25a7330674f"},
    reason="each token of a tensor is six operations: fairseq-generate and --eval-bleu wait for a "
    "GPU that often, and on a CPU spend twenty times as long on it as on numbers",
    since="fairseq 0.12.2",
    test="tests/unit/compat/test_reading_patches.py",
    loading=True,
)
def read_a_sentence_at_once(stock: Callable[..., str]) -> Callable[..., str]:
    def string(self: Any, tensor: Any, *args: Any, **kwargs: Any) -> str:
        if torch.is_tensor(tensor) and tensor.dim() == 1:
            tensor = tensor.tolist()
        return stock(self, tensor, *args, **kwargs)

    return string


@change(
    "torch.backends.cuda:enable_cudnn_sdp",
    reason="cuDNN's attention makes a plan for every new shape, and batches of sentences have new "
    "shapes all the time",
    since="torch 2.5 with half precision on an H100 or later",
    test="tests/unit/compat/test_gpu_patches.py",
)
def no_cudnn_attention() -> None:
    torch.backends.cuda.enable_cudnn_sdp(False)


@change(
    "libc:mallopt",
    reason="glibc returns freed tensors to the system, which clears each page for the next one",
    since="glibc; on a machine with a GPU PyTorch has an allocator of its own",
    test="tests/unit/compat/test_changes.py",
    needed=lambda: not torch.cuda.is_available(),
)
def keep_freed_tensors() -> None:
    if any(name.startswith("MALLOC_") for name in os.environ) or "GLIBC_TUNABLES" in os.environ:
        return  # the user has set glibc's allocator
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # another C library
        return
    for name, value in _MALLOC.items():
        mallopt(name, value)
