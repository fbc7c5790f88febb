"""Products of one matrix with each step of a sequence, and one product for its gradient.

In a loop over positions, autograd computes the gradient of a weight step by step, with a small
product and a sum of whole matrices each time. Here each step only stores its input. After the
backward pass of all steps, one product over all steps gives the same gradient.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Notes = list[tuple[Tensor, Tensor]]


class StepwiseProduct:
    """``x_t @ weight + bias`` for one step t after another of one forward pass.

    Args:
        weight: (K, N), or (S, K, N) for one matrix per sentence
        bias: (N) or None
        dtype: of the products (mixed precision)
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None, *, dtype: torch.dtype) -> None:
        if bias is None:
            bias = weight.new_zeros(())
        self.notes: Notes = []
        self.weight, self.bias = _Collect.apply(  # type: ignore[no-untyped-call]
            weight.to(dtype), bias.to(dtype), self.notes
        )

    def __call__(self, x: Tensor) -> Tensor:
        """Multiplies (R, K) → (R, N), or (S, beam, K) → (S, beam, N)."""
        product: Tensor = _Step.apply(  # type: ignore[no-untyped-call]
            x, self.weight, self.bias, self.notes
        )
        return product


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, notes: Notes) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.notes = notes
        return torch.addmm(bias, x, weight) if bias.dim() else x @ weight

    @staticmethod
    @once_differentiable  # the notes of a second derivative would be mixed up with these
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        x, weight = ctx.saved_tensors
        ctx.notes.append((x, grad))
        return grad @ weight.transpose(-2, -1), None, None, None


class _Collect(torch.autograd.Function):
    """Passes weight and bias through; its backward pass runs after that of all steps."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor, notes: Notes) -> tuple[Tensor, Tensor]:
        ctx.notes = notes
        ctx.has_bias = bias.dim() > 0
        return weight.view_as(weight), bias.view_as(bias)

    @staticmethod
    @once_differentiable  # the notes of a second derivative would be mixed up with these
    def backward(ctx: Any, *_: Tensor) -> tuple[Tensor, Tensor | None, None]:
        x = torch.cat([x for x, _ in ctx.notes], dim=-2)  # (T * R, K)
        grad = torch.cat([grad for _, grad in ctx.notes], dim=-2)  # (T * R, N)
        ctx.notes.clear()
        return x.transpose(-2, -1) @ grad, grad.sum(dim=0) if ctx.has_bias else None, None
