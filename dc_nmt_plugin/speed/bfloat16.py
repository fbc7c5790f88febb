"""Products of linear layers in bfloat16 on a CPU, where everything else stays in float32.

torch's autocast also casts attention, which on a CPU is then many small products, and casts the
weights at every call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

# by the parameters' id: parameter, its version, and what it is in bfloat16; None: products are in
# float32
_weights: dict[int, tuple[Tensor, int, Tensor]] | None = None
_in_float32 = F.linear


@contextmanager
def bfloat16_products() -> Iterator[None]:
    """Lets :func:`linear`, and so every linear layer, multiply float32 in bfloat16 on a CPU.

    Inputs and weights are rounded; outputs and gradients are float32 again. Every parameter is
    rounded once, at its first use, and again where it was changed (not through its ``data``).
    """
    global _weights
    outer, _weights = _weights, {}
    try:
        yield
    finally:
        _weights = outer


def multiplies_in_bfloat16(*factors: Tensor) -> bool:
    """Returns whether the product of these is computed in bfloat16 here and now."""
    return (
        _weights is not None
        and all(factor.dtype == torch.float32 and factor.is_cpu for factor in factors)
        and not torch.is_autocast_enabled("cpu")
    )


def rounded(weight: Tensor) -> Tensor:
    """Returns a parameter, or a matrix made of parameters, in bfloat16, without gradient."""
    if _weights is None or not isinstance(weight, torch.nn.Parameter):
        return weight.detach().bfloat16()
    known = _weights.get(id(weight))
    if known is None or known[1] != weight._version:
        known = _weights[id(weight)] = weight, weight._version, weight.detach().bfloat16()
    return known[2]


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Returns x Wᵀ + b as ``F.linear``, whose place it takes (compat/mixed_precision.py)."""
    if not multiplies_in_bfloat16(x, weight):
        return _in_float32(x, weight, bias)
    rows: Tensor = _Linear.apply(x.reshape(-1, x.size(-1)), weight, bias)
    return rows.view(*x.shape[:-1], rows.size(-1))


class _Linear(torch.autograd.Function):
    """Computes x Wᵀ + b, (R, C) → (R, N)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        factors = x.bfloat16(), rounded(weight)
        ctx.save_for_backward(*factors)
        output = (factors[0] @ factors[1].t()).float()
        return output if bias is None else output.add_(bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        need_x, need_weight, need_bias = ctx.needs_input_grad
        low = gradient.bfloat16()
        return (
            (low @ weight).float() if need_x else None,
            (low.t() @ x).float() if need_weight else None,
            gradient.sum(dim=0) if need_bias else None,
        )
