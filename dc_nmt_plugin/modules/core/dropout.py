"""Dropout with cheap random numbers on a CPU."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

_LEVELS = 1 << 16


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """Zeros each element with probability `p` and scales the others by 1 / (1 - p).

    On a CPU, torch's dropout draws one random number per element from a slow generator, which takes
    about a tenth of a small model's training step. Here one 64-bit number serves four elements, so
    `p` is rounded to a multiple of 2^-16. On other devices this is ``torch.nn.functional.dropout``.

    Args:
        x: any shape
        p: probability in [0, 1)
        training: identity otherwise
    """
    if not training or p == 0.0:
        return x
    if x.device.type != "cpu" or x.numel() == 0:
        return F.dropout(x, p)
    dropped = min(round(p * _LEVELS), _LEVELS - 1)
    return x * _keep(x, dropped).mul_(_LEVELS / (_LEVELS - dropped))


def add_dropped(x: Tensor, y: Tensor, p: float, training: bool) -> Tensor:
    """Returns ``x + dropout(y, p, training)`` for a residual connection, in one pass over both."""
    if not training or p == 0.0 or x.device.type != "cpu" or x.dtype != y.dtype or not x.numel():
        return x + dropout(y, p, training)
    dropped = min(round(p * _LEVELS), _LEVELS - 1)
    return torch.addcmul(x, y, _keep(y, dropped), value=_LEVELS / (_LEVELS - dropped))


def _keep(x: Tensor, dropped: int) -> Tensor:
    """Returns 1 for kept elements and 0 for dropped ones, with probability dropped / 2^16."""
    # four 16-bit numbers in each 64-bit one, all of them equally likely
    words = torch.empty((x.numel() + 3) // 4, dtype=torch.int64)
    numbers = words.random_(-(1 << 63), None).view(torch.int16)[: x.numel()]
    kept = x.new_empty(x.numel())  # x may be transposed
    return torch.ge(numbers, dropped - _LEVELS // 2, out=kept).view(x.shape)
