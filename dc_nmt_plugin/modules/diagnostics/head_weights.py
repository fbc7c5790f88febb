"""Head weights and added logits of cross aggregation, from the recorded tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from ..core.recording import Records
from .records import Batch, Diagnostic, Totals, self_attentions


def head_weight_totals(head_weights: Tensor) -> tuple[Tensor, int]:
    """Returns the sums (H,) of Λ over sentences, float64, and the number of sentences.

    Args:
        head_weights: (B, H) as recorded
    """
    return head_weights.double().sum(dim=0), head_weights.size(0)


def head_weight_entropy(head_weights: Tensor) -> Tensor:
    """Returns the entropy (B,) of Λ (B, H) in nats; it is log H for equal weights."""
    entropies: Tensor = torch.special.entr(head_weights.double())
    return entropies.sum(dim=-1)


def entropy_total(head_weights: Tensor) -> tuple[float, int]:
    """Returns the sum of the entropy of Λ (B, H) in nats, and the number of sentences."""
    return float(head_weight_entropy(head_weights).sum()), head_weights.size(0)


def added_norm_total(added_norm: Tensor, padding: Tensor | None) -> tuple[float, int]:
    """Returns the sum of the norms of the added logits over heads and real queries, and their
    number.

    Args:
        added_norm: (B, H, T) as recorded
        padding: (B, T) bool, True at padding, or None
    """
    values = added_norm.double()
    if padding is None:
        return float(values.sum()), values.numel()
    real = int((~padding).sum()) * values.size(1)
    return float(values.masked_fill(padding[:, None, :], 0.0).sum()), real


def routing_totals(records: Records, batch: Batch) -> Totals:
    """``head_weight_l_h`` is layer l's mean weight of head h (eq. 13), ``head_entropy_l`` the mean
    entropy of Λ in nats, ``added_norm_l`` the mean norm of Ω over heads and real positions.
    """
    result: Totals = {}
    for side, layer, tensors in self_attentions(records):
        if "added_norm" in tensors:
            result["added_norm", layer] = added_norm_total(
                tensors["added_norm"], batch.padding(side)
            )
        if "head_weights" in tensors:
            sums, count = head_weight_totals(tensors["head_weights"])
            for head, total in enumerate(sums.tolist(), start=1):
                result["head_weight", layer, head] = (total, count)
            result["head_entropy", layer] = entropy_total(tensors["head_weights"])
    return result


DIAGNOSTIC = Diagnostic(needs=("added_norm", "head_weights"), totals=routing_totals)
