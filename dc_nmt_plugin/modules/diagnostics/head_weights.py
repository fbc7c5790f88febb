"""Head weights and added logits of cross aggregation, from the recorded tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from ..core.recording import Records
from .records import Batch, Diagnostic, Totals, self_attentions, token_total


def head_weight_entropy(head_weights: Tensor) -> Tensor:
    """Returns the entropy (B,) of Λ (B, H) in nats; it is log H for equal weights."""
    entropies: Tensor = torch.special.entr(head_weights.double())
    return entropies.sum(dim=-1)


def routing_totals(records: Records, batch: Batch) -> Totals:
    """``head_weight_l_h`` is layer l's mean weight of head h (eq. 13), ``head_entropy_l`` the mean
    entropy of Λ in nats, ``added_norm_l`` the mean norm of Ω over heads and real positions.
    """
    totals: Totals = {}
    for side, layer, tensors in self_attentions(records):
        if "added_norm" in tensors:
            of_heads = tensors["added_norm"].double().mean(dim=1)  # (B, T)
            totals["added_norm", layer] = token_total(of_heads, batch.padding(side))
        if "head_weights" in tensors:
            weights = tensors["head_weights"]  # (B, H)
            sentences = weights.size(0)
            for head, total in enumerate(weights.double().sum(dim=0).tolist(), start=1):
                totals["head_weight", layer, head] = (total, sentences)
            totals["head_entropy", layer] = (float(head_weight_entropy(weights).sum()), sentences)
    return totals


DIAGNOSTIC = Diagnostic(needs=("added_norm", "head_weights"), totals=routing_totals)
