"""Changes that make fairseq's programs faster, each by at least a tenth."""

from __future__ import annotations

import ctypes
import os

import torch

from ..modules.fast import optimizer_step
from .change import Function, change, replace


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
        mallopt(-4, 0)  # M_MMAP_MAX of malloc.h: no block of memory is a mapping of its own
        mallopt(-1, -1)  # M_TRIM_THRESHOLD: nothing is returned before the program ends


@change(
    "torch.backends.cuda:enable_cudnn_sdp",
    reason="cuDNN's attention makes a plan for every new shape, and batches of sentences have new "
    "shapes all the time",
    since="torch 2.5 with half precision on an H100 or later",
    test="tests/unit/compat/test_gpu_patches.py",
)
def no_cudnn_attention() -> None:
    torch.backends.cuda.enable_cudnn_sdp(False)


@replace(
    {
        "fairseq.optim.adam:Adam.step": "b3080f943b81",
        "fairseq.optim.fp16_optimizer:_FP16OptimizerMixin.zero_grad": "edb251e093bf",
        "fairseq.optim.fp16_optimizer:_FP16OptimizerMixin._sync_fp16_grads_to_fp32": "95dbc4ca8ef7",
        "fairseq.optim.fp16_optimizer:_FP16OptimizerMixin._sync_fp32_params_to_fp16": (
            "c3126da113a3"
        ),
        "fairseq.utils:clip_grad_norm_": "a92acbeadd95",
    },
    reason="fairseq's optimizers start a dozen operations for each parameter: on a GPU, an update "
    "of a small model waits longer for them than for model and loss; and --clip-norm of a "
    "training with --cpu moves the norms to a GPU that torch sees",
    test="tests/unit/compat/test_optimizer.py",
)
def all_parameters_at_once(*stock: Function) -> tuple[Function, ...]:
    return optimizer_step.instead_of(*stock)
