"""Mean gates of context-aware self-attention, from the recorded gates.

Context-aware self-attention (AAAI 2019), Figs 2-4.
"""

from __future__ import annotations

from torch import Tensor

from ..core.recording import Records
from .records import Batch, Diagnostic, Totals, pool, self_attentions

GATES = ("lambda_q", "lambda_k")


def token_total(values: Tensor, padding: Tensor | None) -> tuple[float, int]:
    """Returns sum and number of the values at real tokens.

    Args:
        values: (B, T, 1) or (B, T), one number per token
        padding: (B, T) bool, True at padding, or None
    """
    values = values.double().reshape(values.size(0), values.size(1))
    if padding is None:
        return float(values.sum()), values.numel()
    return float(values.masked_fill(padding, 0.0).sum()), int((~padding).sum())


def mean_gates(records: Records, batch: Batch) -> Totals:
    """``lambda_q_encoder_l`` and ``lambda_k_encoder_l`` are layer l's gates over real tokens;
    ``lambda_q_encoder`` and ``lambda_k_encoder`` the mean over the side's layers.
    """
    result: Totals = {}
    for side, layer, tensors in self_attentions(records):
        for gate in GATES:
            if gate in tensors:
                total, count = token_total(tensors[gate], batch.padding(side))
                result[gate, side, layer] = (total, count)
                pool(result, (gate, side), total, count)
    return result


DIAGNOSTIC = Diagnostic(needs=GATES, totals=mean_gates)
