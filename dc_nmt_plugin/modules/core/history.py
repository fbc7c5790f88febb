"""What the lower layers saw: the inputs of the layers run so far, and their means."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .masks import SequenceMask


def _itself(tensor: Tensor) -> Tensor:
    return tensor


def _kept_out_of_checkpoints() -> torch.autograd.graph.saved_tensors_hooks:
    """For what a layer computes on first use.

    Activation checkpointing runs a layer twice and expects it to save the same tensors twice, but
    the second run finds the result. What is saved here (masks, counts, inputs of layers, which the
    checkpoint keeps anyway) stays out of the checkpoint's sight.
    """
    return torch.autograd.graph.saved_tensors_hooks(_itself, _itself)


class LayerHistory:
    """What the self-attentions of one stack read, H^1 … H^l, in one forward pass.

    The stack appends each layer's input before the layer runs, so the last is the running layer's
    own. In pre-norm a self-attention reads the layer norm of the layer's input: H is that norm.

    Args:
        mask: padding and causality of the stack's sequences
        past: for incremental decoding, the slot (kept between steps, one row a hypothesis) that
            holds the running sums; None otherwise
    """

    def __init__(self, mask: SequenceMask, past: dict[str, Tensor] | None = None) -> None:
        self.mask = mask
        self.past = past
        self._inputs: list[Tensor] = []
        self._norms: list[Callable[[Tensor], Tensor] | None] = []
        self._normalised: dict[int, Tensor] = {}
        self._means: dict[int, Tensor] = {}

    def __len__(self) -> int:
        return len(self._inputs)

    def append(self, x: Tensor, norm: Callable[[Tensor], Tensor] | None = None) -> None:
        """Adds the input (B, T, C) of the next layer, and its layer norm in pre-norm."""
        self._inputs.append(x)
        self._norms.append(norm)

    def input(self, level: int) -> Tensor:
        """Returns H (B, T, C) of layer `level` (0-based), normalised on first use."""
        norm = self._norms[level]
        if norm is None:
            return self._inputs[level]
        if level not in self._normalised:
            with _kept_out_of_checkpoints():
                self._normalised[level] = norm(self._inputs[level])
        return self._normalised[level]

    def mean(self, level: int) -> Tensor:
        """Global context c of layer `level` (0-based), computed on first use.

        Returns:
            (B, 1, C), the mean over real positions; for causal stacks (B, T, C), at position t the
            mean over real positions ≤ t (context-aware self-attention, "global context")
        """
        if level not in self._means:
            x = self.input(level)
            with _kept_out_of_checkpoints():
                self._means[level] = self._compute_mean(level, x)
        return self._means[level]

    def _compute_mean(self, level: int, x: Tensor) -> Tensor:
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
