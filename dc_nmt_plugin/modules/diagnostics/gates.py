"""Mean gates of context-aware self-attention (AAAI 2019, Figs 2-4), from the recorded gates."""

from __future__ import annotations

from ..core.recording import Records
from .records import Batch, Diagnostic, Totals, pool, self_attentions, token_total

GATES = ("lambda_q", "lambda_k")


def mean_gates(records: Records, batch: Batch) -> Totals:
    """``lambda_q_encoder_l`` and ``lambda_k_encoder_l`` are layer l's gates over real tokens;
    ``lambda_q_encoder`` and ``lambda_k_encoder`` the mean over the side's layers.
    """
    totals: Totals = {}
    for side, layer, tensors in self_attentions(records):
        for gate in GATES:
            if gate in tensors:
                total, count = token_total(tensors[gate].squeeze(-1), batch.padding(side))
                totals[gate, side, layer] = (total, count)
                pool(totals, (gate, side), total, count)
    return totals


DIAGNOSTIC = Diagnostic(needs=GATES, totals=mean_gates)
