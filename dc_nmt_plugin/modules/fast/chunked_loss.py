"""Output projection and label-smoothed cross-entropy in one operation.

The logits of a batch are the largest activation of a translation model. Here they exist only for
one chunk of rows at a time, which is reduced to its loss and, in training, to its gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .bfloat16 import multiplies_in_bfloat16, rounded

# logits alive at a time; a chunk should stay near the caches of a CPU, a GPU wants big products
_FEW, _MANY, _MANY_ON_GPU = 1 << 21, 1 << 23, 1 << 25
_ROWS = 256  # with fewer, a CPU reads the weights too often

# torch 2.8's has no types
_Function = TypeVar("_Function", bound=Callable[..., Any])
_once_differentiable = cast(Callable[[_Function], _Function], once_differentiable)


class SmoothedLoss(NamedTuple):
    """Holds sums over target tokens, with natural logarithms.

    Attributes:
        loss: label-smoothed cross-entropy, with gradient
        nll: negative log-likelihood, without
        correct: tokens whose most probable prediction is the target; zero unless asked for
    """

    loss: Tensor
    nll: Tensor
    correct: Tensor


def label_smoothed_loss(
    features: Tensor,
    weight: Tensor,
    target: Tensor,
    *,
    epsilon: float,
    bias: Tensor | None = None,
    count_correct: bool = False,
    chunk_rows: int | None = None,
) -> SmoothedLoss:
    """Returns fairseq's label-smoothed cross-entropy of ``features @ weight.T + bias``.

    (1 - ε - ε_i) nll + ε_i Σ_v -log p_v with ε_i = ε / (V - 1); softmax in float32.

    Args:
        features: (N, C) decoder states at real target positions
        weight: (V, C) output projection
        target: (N) token ids
        epsilon: label smoothing ε
        bias: (V) of the output projection, or None
        count_correct: count the correct predictions, which takes another pass over the logits
        chunk_rows: rows projected at a time; default by device and vocabulary

    Returns:
        sums over the N tokens
    """
    if chunk_rows is None:
        chunk_rows = rows_of_chunk(features.device.type, weight.size(0))
    device, factor = features.device.type, weight.detach()
    if torch.is_autocast_enabled(device):
        factor = factor.to(torch.get_autocast_dtype(device))
    elif multiplies_in_bfloat16(features, weight):
        factor = rounded(weight)
    loss, nll, correct = _ChunkedLoss.apply(  # type: ignore[no-untyped-call]
        features,
        weight,
        bias,
        factor,
        target,
        epsilon,
        chunk_rows,
        count_correct,
        torch.is_grad_enabled(),
    )
    return SmoothedLoss(loss, nll, correct)


def rows_of_chunk(device: str, vocabulary: int) -> int:
    """Returns the rows projected at a time on a device, "cpu" or another."""
    if device != "cpu":
        return max(1, _MANY_ON_GPU // vocabulary)
    return max(1, _FEW // vocabulary, min(_ROWS, _MANY // vocabulary))


class _ChunkedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        factor: Tensor,  # the weight, in the type of the products
        target: Tensor,
        epsilon: float,
        chunk_rows: int,
        count_correct: bool,
        with_gradients: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        vocabulary = weight.size(0)
        eps_i = epsilon / (vocabulary - 1)
        exact = torch.promote_types(features.dtype, torch.float32)
        loss = torch.zeros((), dtype=exact, device=features.device)
        nll = torch.zeros_like(loss)
        correct = torch.zeros((), dtype=torch.long, device=features.device)
        need = [with_gradients and needed for needed in ctx.needs_input_grad]
        grad_features = torch.empty_like(features) if need[0] else None
        grad_weight = torch.zeros_like(weight, dtype=exact) if need[1] else None
        grad_bias = torch.zeros_like(bias, dtype=exact) if bias is not None and need[2] else None

        with torch.autocast(features.device.type, enabled=False):
            for start in range(0, features.size(0), chunk_rows):
                rows = slice(start, start + chunk_rows)
                h, y = features[rows].to(factor.dtype), target[rows, None]
                logits = h @ factor.t()  # (n, C) @ (C, V) = (n, V)
                if bias is not None:
                    logits += bias
                logits = logits.to(exact)
                lprobs = logits.log_softmax(dim=1)
                chunk_nll = -lprobs.gather(1, y).sum()
                smooth = -lprobs.sum()
                nll += chunk_nll
                loss += (1.0 - epsilon - eps_i) * chunk_nll + eps_i * smooth
                if count_correct:
                    correct += logits.argmax(dim=1).eq(y[:, 0]).sum()
                if not (need[0] or need[1]):
                    continue
                # d loss / d logits = softmax - ε_i - (1 - ε - ε_i) at the target, in place
                gradient = lprobs.exp_().sub_(eps_i)
                target_share = gradient.new_full(y.shape, epsilon + eps_i - 1.0)
                gradient.scatter_add_(1, y, target_share)
                if grad_bias is not None:
                    grad_bias += gradient.sum(dim=0)
                gradient = gradient.to(factor.dtype)
                if grad_features is not None:
                    grad_features[rows] = gradient @ factor  # (n, V) @ (V, C)
                if grad_weight is not None:
                    if gradient.dtype == exact:
                        grad_weight.addmm_(gradient.t(), h)  # (V, n) @ (n, C)
                    else:
                        grad_weight += gradient.t() @ h
        ctx.save_for_backward(grad_features, grad_weight, grad_bias)
        ctx.dtypes = (features.dtype, weight.dtype)
        ctx.mark_non_differentiable(nll, correct)
        return loss, nll, correct

    @staticmethod
    @_once_differentiable
    def backward(ctx: Any, grad_loss: Tensor, *unused: Tensor) -> tuple[Tensor | None, ...]:
        grad_features, grad_weight, grad_bias = ctx.saved_tensors
        features_dtype, weight_dtype = ctx.dtypes
        return (
            None if grad_features is None else grad_features * grad_loss.to(features_dtype),
            None if grad_weight is None else (grad_weight * grad_loss).to(weight_dtype),
            None if grad_bias is None else (grad_bias * grad_loss).to(weight_dtype),
            *(None,) * 6,
        )
