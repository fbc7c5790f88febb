"""Changes that make fairseq's programs faster, each by at least a tenth."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import torch
from fairseq.binarizer import FileBinarizer
from fairseq.tokenizer import tokenize_line

from ..speed import binarising, optimizer_step
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
    },
    reason="fairseq's optimizers start a dozen operations for each parameter: on a GPU, an update "
    "of a small model waits longer for them than for model and loss",
    test="tests/unit/compat/test_optimizer.py",
)
def all_parameters_at_once(
    step: Function, zero: Function, gradients: Function, parameters: Function
) -> tuple[Function, ...]:
    def adam_step(self: Any, closure: Any = None) -> Any:
        done = closure is None and optimizer_step.step_of_adam_on_a_gpu(self)
        return None if done else step(self, closure)

    def zero_grad(self: Any) -> None:
        if not optimizer_step.clear_gradients(self):
            zero(self)

    def sync_gradients(self: Any) -> None:
        if not optimizer_step.gradients_to_float32(self):
            gradients(self)

    def sync_parameters(self: Any) -> None:
        if not optimizer_step.parameters_from_float32(self):
            parameters(self)

    return adam_step, zero_grad, sync_gradients, sync_parameters


@replace(
    {"fairseq.utils:clip_grad_norm_": "a92acbeadd95"},
    reason="--clip-norm starts operations for each parameter, and in a training with --cpu moves "
    "the norms to a GPU that torch sees",
    test="tests/unit/compat/test_optimizer.py",
)
def clip_all_gradients_at_once(stock: Function) -> Function:
    def clip_grad_norm_(params: Any, max_norm: float, aggregate_norm_fn: Any = None) -> Any:
        params = [params] if isinstance(params, torch.Tensor) else list(params)
        norm = None
        if aggregate_norm_fn is None and not any(hasattr(param, "expert") for param in params):
            norm = optimizer_step.clip(params, max_norm)
        return stock(params, max_norm, aggregate_norm_fn) if norm is None else norm

    return clip_grad_norm_


@replace(
    {
        "fairseq.data.dictionary:Dictionary._add_file_to_dictionary_single_worker": "3ac661c61ad2",
        "fairseq.binarizer:FileBinarizer.multiprocess_dataset": "a869389ac60d",
    },
    reason="fairseq-preprocess calls five functions for each word, and begins with the first part "
    "of a text when its workers have done the others",
    test="tests/system/test_binarising.py",
)
def binarise_whole_lines(count: Function, binarise: Function) -> tuple[Function, ...]:
    def add_file(path: str, tokenize: Any, end: str, first: int, last: int) -> Any:
        if tokenize is tokenize_line and binarising.are_bytes(path, (first, last)):
            return binarising.count_words(path, (first, last), end)
        return count(path, tokenize, end, first, last)

    # a class method of fairseq's; a function in its place gets no class
    def multiprocess_dataset(
        input_file: str,
        dataset_impl: str,
        binarizer: Any,
        output_prefix: str,
        vocab_size: int | None = None,
        num_workers: int = 1,
    ) -> Any:
        summary = None
        if binarising.is_plain(binarizer, dataset_impl):
            summary = binarising.binarise(input_file, binarizer, output_prefix, num_workers)
        if summary is None:
            arguments = (dataset_impl, binarizer, output_prefix, vocab_size, num_workers)
            summary = binarise(FileBinarizer, input_file, *arguments)
        return summary

    return add_file, multiprocess_dataset
