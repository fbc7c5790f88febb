"""What the lower layers saw: the inputs of the layers run so far, and their means."""

from __future__ import annotations

import torch
from torch import Tensor

from .masks import SequenceMask


def _itself(tensor: Tensor) -> Tensor:
    return tensor


class LayerHistory:
    """The inputs H^1 … H^l of the layers of one stack, in one forward pass.

    Layer l appends its input before it runs, so ``inputs[-1]`` is the running layer's own input.

    Args:
        mask: padding and causality of the stack's sequences
        past: for incremental decoding, the slot (kept between steps, one row a hypothesis) that
            holds the running sums; None otherwise
    """

    def __init__(self, mask: SequenceMask, past: dict[str, Tensor] | None = None) -> None:
        self.mask = mask
        self.past = past
        self.inputs: list[Tensor] = []
        self._means: dict[int, Tensor] = {}

    def append(self, x: Tensor) -> None:
        """Add the input (B, T, C) of the next layer."""
        self.inputs.append(x)

    def mean(self, level: int) -> Tensor:
        """Global context c of layer `level` (0-based), computed on first use.

        Returns:
            (B, 1, C), the mean over real positions; for causal stacks (B, T, C), at position t the
            mean over real positions ≤ t (context-aware self-attention, "global context")
        """
        if level not in self._means:
            # Activation checkpointing runs a layer twice and expects it to save the same tensors
            # twice, but the second run finds the mean: keep what it saves (masks and counts, no
            # activations) out of the checkpoint's sight.
            with torch.autograd.graph.saved_tensors_hooks(_itself, _itself):
                self._means[level] = self._compute_mean(level)
        return self._means[level]

    def _compute_mean(self, level: int) -> Tensor:
        x = self.inputs[level]
        if self.past is not None:
            return self._next_running_mean(level, x)
        return self._running_mean(x) if self.mask.causal else self._mean(x)

    def _zero_padding(self, x: Tensor) -> Tensor:
        """x (B, T, C) in float32 at least, zero at padding: half precision cannot add up steps."""
        return self.mask.zero_padding(x.to(torch.promote_types(x.dtype, torch.float32)))

    def _real(self, x: Tensor) -> Tensor:
        """(B, T, 1), or (1, T, 1) where nothing is padded: 1 at real positions, 0 at padding."""
        if self.mask.padding is None:
            return x.new_ones(1, x.size(1), 1)
        return (~self.mask.padding)[:, :, None].to(x.dtype)

    def _mean(self, x: Tensor) -> Tensor:
        total = self._zero_padding(x)
        count = self._real(total).sum(dim=1, keepdim=True).clamp(min=1.0)
        return (total.sum(dim=1, keepdim=True) / count).type_as(x)  # (B, 1, C)

    def _running_mean(self, x: Tensor) -> Tensor:
        total = self._zero_padding(x)
        # padding on the left has seen nothing yet: divide by one there, its rows are not used
        seen = self._real(total).cumsum(dim=1).clamp(min=1.0)
        return (total.cumsum(dim=1) / seen).type_as(x)  # (B, T, C)

    def _next_running_mean(self, level: int, x: Tensor) -> Tensor:
        assert self.past is not None
        total, steps = f"sum{level}", f"steps{level}"
        new = x.to(torch.promote_types(x.dtype, torch.float32))
        if total in self.past:
            self.past[total] = self.past[total] + new
            self.past[steps] = self.past[steps] + 1
        else:
            self.past[total] = new
            self.past[steps] = torch.ones_like(new[:, :, :1])
        return (self.past[total] / self.past[steps]).type_as(x)  # (R, 1, C)
