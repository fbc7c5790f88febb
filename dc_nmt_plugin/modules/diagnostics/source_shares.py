"""Shares of the encoder layers in the decoder's input.

For multi-layer attention (Ampomah's thesis, ch. 3) each softmax sums to one, whatever the layer,
so the attention mass cannot distinguish the layers; the norms of their contexts, ‖c^i‖, do. For
layer aggregation it is the norm of what f^i adds to H^a. Both are given as shares of their sum at
a position.
"""

from __future__ import annotations

from torch import Tensor

from ..core.recording import Records
from .records import Batch, Diagnostic, Totals, pool


def share_totals(norms: Tensor, padding: Tensor | None) -> tuple[Tensor, int]:
    """Returns each layer's share (n,), summed over real positions, and their number.

    Args:
        norms: (B, T, n) non-negative; positions where all n are zero are left out
        padding: (B, T) bool, True at padding, or None
    """
    norms = norms.double()
    total = norms.sum(dim=-1)  # (B, T)
    counted = total > 0
    if padding is not None:
        counted = counted & ~padding
    shares = norms[counted] / total[counted][:, None]  # (positions, n)
    return shares.sum(dim=0), int(counted.sum())


def source_shares(records: Records, batch: Batch) -> Totals:
    """``source_layer_l`` is the share of encoder layer l, over all decoder layers that read
    several; the shares of all layers sum to one.
    """
    result: Totals = {}
    for tensors in records.values():
        if "context_norms" in tensors:
            sums, count = share_totals(tensors["context_norms"], batch.padding("decoder"))
        elif "contributions" in tensors:
            sums, count = share_totals(tensors["contributions"], batch.padding("encoder"))
        else:
            continue
        for layer, total in zip(batch.read_layers, sums.tolist(), strict=True):
            pool(result, ("source_layer", layer), total, count)
    return result


DIAGNOSTIC = Diagnostic(needs=("context_norms", "contributions"), totals=source_shares)
