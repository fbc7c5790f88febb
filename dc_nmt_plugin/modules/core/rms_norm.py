"""RMSNorm with half of the passes over its input that torch's needs on a CPU.

Shapes: N vectors of width C.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

_EXACT = (torch.float32, torch.float64)


class RMSNorm(nn.RMSNorm):
    """Returns g ⊗ a / √(Σ_i a_i² / C + ε), eq. (4) of Zhang and Sennrich (2019).

    On a CPU, torch computes squares, mean, root and products one after the other, and remembers
    them all for the backward pass. On other devices this is torch's, which is one operation there.

    Args:
        width: C
        eps: ε; the paper has none, but a vector of zeros needs one
    """

    eps: float

    def __init__(self, width: int, *, eps: float = 1e-6) -> None:
        super().__init__(width, eps=eps)

    def forward(self, x: Tensor) -> Tensor:
        """Maps (…, C) → (…, C)."""
        if x.device.type != "cpu" or x.dtype not in _EXACT or x.dtype != self.weight.dtype:
            return super().forward(x)
        if not torch.is_grad_enabled():
            return (x * self.weight).mul_(_inverse_root(x, self.eps))
        normed: Tensor = _Norm.apply(x, self.weight, self.eps)  # type: ignore[no-untyped-call]
        return normed


def _inverse_root(x: Tensor, epsilon: float) -> Tensor:
    """Returns 1 / √(Σ_i a_i² / C + ε), (…, 1)."""
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return torch.addcmul(
        length.new_full((), epsilon), length, length, value=1 / x.size(-1)
    ).rsqrt_()


class _Norm(torch.autograd.Function):
    """With r = 1 / √(Σ_i a_i² / C + ε) and the gradient y of the output:

    ∂g = Σ_n r (y ⊗ a),   ∂a = r (y ⊗ g) - a r³ (Σ_i y_i a_i g_i) / C
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        root = _inverse_root(x, epsilon)
        ctx.save_for_backward(x, weight, root)
        return (x * weight).mul_(root)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        x, weight, root = ctx.saved_tensors
        products = (grad * x).reshape(-1, x.size(-1))
        grad_weight = products.t().mv(root.reshape(-1))
        common = products.mv(weight).view_as(root).mul_(root**3)
        grad_x = (grad * weight).mul_(root).addcmul_(x, common, value=-1 / x.size(-1))
        return grad_x, grad_weight, None
