"""Head weights and added logits of cross aggregation, from what its modules record.

Everything comes as (sum, count), so that the totals of batches and of workers can be added and
divided once, exactly.
"""

from __future__ import annotations

import torch
from torch import Tensor


def head_weight_totals(head_weights: Tensor) -> tuple[list[float], int]:
    """Sum of Λ over sentences, head by head, and the number of sentences.

    Args:
        head_weights: (B, H) as recorded
    """
    return head_weights.double().sum(dim=0).tolist(), head_weights.size(0)


def head_weight_entropy(head_weights: Tensor) -> Tensor:
    """Entropy in nats (B,) of every sentence's Λ (B, H); log H where all heads weigh the same."""
    entropies: Tensor = torch.special.entr(head_weights.double())
    return entropies.sum(dim=-1)


def entropy_total(head_weights: Tensor) -> tuple[float, int]:
    """Sum of the entropy of Λ (B, H) over sentences, in nats, and the number of sentences."""
    return float(head_weight_entropy(head_weights).sum()), head_weights.size(0)


def added_norm_total(added_norm: Tensor, padding: Tensor | None) -> tuple[float, int]:
    """Sum of the norms of the added logits over heads and real queries, and their number.

    Args:
        added_norm: (B, H, T) as recorded
        padding: (B, T) bool, True at padding, or None
    """
    values = added_norm.double()
    if padding is None:
        return float(values.sum()), values.numel()
    real = int((~padding).sum()) * values.size(1)
    return float(values.masked_fill(padding[:, None, :], 0.0).sum()), real
