"""Changes that make fairseq's programs faster, each by at least a tenth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .change import change, replace


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
