"""Which positions may be attended to."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class SequenceMask:
    """The mask of one batch of sequences, built once a forward pass and used by every layer.

    Attributes:
        padding: (B, T) bool, True at padding; None when the batch has none
        causal: position t sees positions ≤ t only
        allowed: bool, True = may be attended, broadcastable to (B, H, T, T), as
            ``scaled_dot_product_attention`` takes it; None where `is_causal` says everything
    """

    padding: Tensor | None = None
    causal: bool = False
    allowed: Tensor | None = None

    @property
    def is_causal(self) -> bool:
        """Whether attention needs the causal pattern beside `allowed`."""
        return self.causal and self.allowed is None

    @staticmethod
    def build(padding: Tensor | None, *, causal: bool = False) -> SequenceMask:
        """
        Args:
            padding: (B, T) bool, True at padding, or None
            causal: whether positions see only earlier ones and themselves

        In a causal mask every position may see itself, so that padding on the left leaves no row
        without a key (a softmax over nothing is NaN); padding on the right needs no mask at all,
        because nothing real looks to the right.
        """
        if padding is None:
            return SequenceMask(causal=causal)
        if not causal:
            return SequenceMask(padding, False, ~padding[:, None, None, :])  # (B, 1, 1, T)
        length = padding.size(1)
        seen = torch.ones(length, length, dtype=torch.bool, device=padding.device).tril()
        itself = torch.eye(length, dtype=torch.bool, device=padding.device)
        allowed = seen & (~padding[:, None, None, :] | itself)  # (B, 1, T, T)
        return SequenceMask(padding, True, allowed)

    def zero_padding(self, x: Tensor) -> Tensor:
        """x (B, T, C) with zeros at padded positions."""
        return x if self.padding is None else x.masked_fill(self.padding[:, :, None], 0.0)
