"""Moves padding from the left to the right, because recurrent layers start at the first
position."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class LeftAligned(NamedTuple):
    """Holds token ids with padding on the right.

    Attributes:
        tokens: (B, T)
        back: (B, T) new position of each original position; None if nothing moved
    """

    tokens: Tensor
    back: Tensor | None

    def restore(self, x: Tensor) -> Tensor:
        """Returns (B, T, C) in the original layout."""
        if self.back is None:
            return x
        return x.gather(1, self.back[:, :, None].expand(-1, -1, x.size(2)))


def left_align(tokens: Tensor, padding_idx: int) -> LeftAligned:
    """Moves the padding of each row of `tokens` (B, T) from the front to the end."""
    if not bool(tokens[:, 0].eq(padding_idx).any()):
        return LeftAligned(tokens, None)
    length = tokens.size(1)
    in_front = tokens.eq(padding_idx).cumprod(dim=1).sum(dim=1, keepdim=True)  # (B, 1)
    positions = torch.arange(length, device=tokens.device)
    forth = (positions + in_front) % length  # (B, T)
    return LeftAligned(tokens.gather(1, forth), (positions - in_front) % length)
