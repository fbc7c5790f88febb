"""Recurrent layers run from the first position: batches that are padded on the left move over."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class LeftAligned(NamedTuple):
    """Token ids with their padding on the right.

    Attributes:
        tokens: (B, T)
        back: (B, T) for each position of the original layout its position here; None if it is
            the same everywhere
    """

    tokens: Tensor
    back: Tensor | None

    def restore(self, x: Tensor) -> Tensor:
        """(B, T, C) in the original layout."""
        if self.back is None:
            return x
        return x.gather(1, self.back[:, :, None].expand(-1, -1, x.size(2)))


def left_align(tokens: Tensor, padding_idx: int) -> LeftAligned:
    """Move the padding in front of each row of `tokens` (B, T) behind it."""
    if not bool(tokens[:, 0].eq(padding_idx).any()):
        return LeftAligned(tokens, None)
    length = tokens.size(1)
    in_front = tokens.eq(padding_idx).cumprod(dim=1).sum(dim=1, keepdim=True)  # (B, 1)
    positions = torch.arange(length, device=tokens.device)
    forth = (positions + in_front) % length  # (B, T)
    return LeftAligned(tokens.gather(1, forth), (positions - in_front) % length)
