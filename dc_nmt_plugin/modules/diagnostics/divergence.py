"""Divergence of the two attentions of a dual-context layer (Ampomah et al., 7.2)."""

from __future__ import annotations

import torch
from torch import Tensor

from ..core.recording import Records
from .records import Batch, Diagnostic, Totals, pool, self_attentions


def attention_divergence(
    global_weights: Tensor, local_weights: Tensor, padding: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Returns the Jensen-Shannon divergence between α_g and α_l in nats, eqs (10)-(12).

    α is the element-wise maximum over heads, its rows not renormalised (the literal eq. 10).

    Args:
        global_weights, local_weights: (B, H, T, S)
        padding: (B, T) bool, True at query rows to leave out, or None

    Returns:
        the sum over query rows and their number, so that a corpus mean adds up exactly
    """
    alpha_g = global_weights.amax(dim=1).float()  # Eq. (10), (B, T, S)
    alpha_l = local_weights.amax(dim=1).float()
    mixture = 0.5 * (alpha_g + alpha_l)  # m of Eq. (11)
    rows = 0.5 * kl(alpha_g, mixture) + 0.5 * kl(alpha_l, mixture)  # Eq. (11), (B, T)
    if padding is None:
        return rows.sum(), torch.tensor(rows.numel(), device=rows.device)
    return rows.masked_fill(padding, 0.0).sum(), (~padding).sum()


def kl(p: Tensor, q: Tensor) -> Tensor:
    """Returns D_KL(P ‖ Q) over the last axis in nats, with 0 log 0 = 0: Eq. (12)."""
    precise = torch.promote_types(p.dtype, torch.float32)  # --fp16: a difference of large terms
    p, q = p.to(precise), q.to(precise)
    tiny = torch.finfo(q.dtype).tiny  # a softmax that came out as 0 is not exactly 0
    return (torch.xlogy(p, p) - torch.xlogy(p, q.clamp(min=tiny))).sum(dim=-1)


def layer_divergences(records: Records, batch: Batch) -> Totals:
    """Returns the divergences by layer and by side.

    ``dv_encoder_l`` is eq. (11) for layer l, per query row. ``dv_encoder`` is the mean over the
    side's layers, E_d of eq. (13).
    """
    result: Totals = {}
    for side, layer, tensors in self_attentions(records):
        if "local_weights" in tensors:
            total, rows = attention_divergence(
                tensors["global_weights"], tensors["local_weights"], batch.padding(side)
            )
            result["dv", side, layer] = (total, rows)
            # every layer has the same rows, so the pooled mean is the mean over layers, Eq. (13)
            pool(result, ("dv", side), total, rows)
    return result


DIAGNOSTIC = Diagnostic(needs=("global_weights", "local_weights"), totals=layer_divergences)
