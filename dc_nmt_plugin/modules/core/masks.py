"""Masks of the positions that attention may use."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


def added_to_logits(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """Returns a mask (..., S) as what attention adds to its logits: 0 where `allowed`, else -inf.

    ``scaled_dot_product_attention`` makes the same of a bool mask at every call.
    """
    keys = allowed.size(-1)
    # a GPU's kernel copies a mask at every call unless its rows are multiples of eight apart
    hidden = F.pad(~allowed, (0, -keys % 8))
    return torch.zeros_like(hidden, dtype=dtype).masked_fill_(hidden, -math.inf)[..., :keys]


def later_keys(queries: int, keys: int, device: torch.device) -> Tensor:
    """Returns (T, S) bool, True where a key stands after the query; the last are aligned."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).triu(keys - queries + 1)


def visible_keys(padding: Tensor) -> Tensor:
    """Returns (B, 1, 1, S) bool, True at real keys; where all are padding, a softmax sees all."""
    return (~padding | padding.all(dim=1, keepdim=True))[:, None, None, :]


@dataclass(frozen=True)
class SequenceMask:
    """Holds the mask of one batch of sequences, built once per forward pass for all layers.

    Attributes:
        padding: (B, T) bool, True at padding; None without padding, and in decoders also when all
            padding is on the right
        causal: position t sees positions ≤ t only
        allowed: bool, True = may be attended, broadcastable to (B, H, T, T); None if `causal` says
            all
    """

    padding: Tensor | None = None
    causal: bool = False
    allowed: Tensor | None = None

    @staticmethod
    def build(padding: Tensor | None, *, causal: bool = False) -> SequenceMask:
        """
        Args:
            padding: (B, T) bool, True at padding; None if no padding has to be masked
            causal: whether positions see only earlier ones and themselves

        In a causal mask, every position may see itself, as in :func:`visible_keys`. Padding on
        the right needs no mask, because no real position looks to the right.
        """
        if padding is None:
            return SequenceMask(causal=causal)
        if not causal:
            return SequenceMask(padding, False, visible_keys(padding))  # (B, 1, 1, T)
        length = padding.size(1)
        seen = ~later_keys(length, length, padding.device)
        itself = torch.eye(length, dtype=torch.bool, device=padding.device)
        allowed = seen & (~padding[:, None, None, :] | itself)  # (B, 1, T, T)
        return SequenceMask(padding, True, allowed)

    def added(self, dtype: torch.dtype) -> Tensor | None:
        """Returns what `allowed` adds to attention logits, of its shape, or None."""
        return None if self.allowed is None else added_to_logits(self.allowed, dtype)

    def zero_padding(self, x: Tensor) -> Tensor:
        """Returns x (B, T, C) with zeros at padded positions."""
        return x if self.padding is None else x.masked_fill(self.padding[:, :, None], 0.0)

    def real(self, x: Tensor) -> Tensor:
        """Returns 1 at real positions of x (B, T, C), 0 at padding: (B, T, 1), or (1, T, 1) without
        padding."""
        if self.padding is None:
            return x.new_ones(1, x.size(1), 1)
        return (~self.padding)[:, :, None].to(x.dtype)
