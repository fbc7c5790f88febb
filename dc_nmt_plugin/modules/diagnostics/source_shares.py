"""How much of what the decoder reads comes from each encoder layer.

For multi-layer attention (Ampomah's thesis, ch. 3) each softmax sums to one, whatever the layer,
so the attention mass cannot tell the layers apart; the norms of their contexts, ‖c^i‖, do. For
layer aggregation it is the norm of what f^i adds to H^a. Both are given as shares of their sum at
a position. Everything comes as (sum, count), so that the totals of batches and of workers can be
added and divided once, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ..core.recording import Records


def share_totals(norms: Tensor, padding: Tensor | None) -> tuple[list[float], int]:
    """Sums over real positions of each layer's share, and the number of positions.

    Args:
        norms: (B, T, n) non-negative; positions where all n are zero are left out
        padding: (B, T) bool, True at padding, or None

    Returns:
        n sums and the count; the sums add up to the count
    """
    norms = norms.double()
    total = norms.sum(dim=-1)  # (B, T)
    counted = total > 0
    if padding is not None:
        counted = counted & ~padding
    shares = norms[counted] / total[counted][:, None]  # (positions, n)
    return [float(share) for share in shares.sum(dim=0)], int(counted.sum())


def source_layer_totals(
    records: Records,
    layers: Sequence[int],
    *,
    source_padding: Tensor | None,
    target_padding: Tensor | None,
    prefix: str = "",
) -> dict[str, tuple[float, int]]:
    """Totals of the shares of each source layer, for each module that reads several of them.

    Args:
        records: of one forward pass inside :func:`~dc_nmt_plugin.modules.core.recording.recording`
        layers: numbers of the encoder layers f^1 … f^n
        source_padding: (S, M) bool, True at padding, or None
        target_padding: (R, T) bool, True at padding, or None
        prefix: only modules whose name starts with it, e.g. ``"decoder."``

    Returns:
        {"<module name>.source_layer_3": (sum, count), …}
    """
    totals: dict[str, tuple[float, int]] = {}
    for module, tensors in records.items():
        if not module.startswith(prefix):
            continue
        if "context_norms" in tensors:
            sums, count = share_totals(tensors["context_norms"], target_padding)
        elif "contributions" in tensors:
            sums, count = share_totals(tensors["contributions"], source_padding)
        else:
            continue
        for layer, total in zip(layers, sums, strict=True):
            totals[f"{module}.source_layer_{layer}"] = (total, count)
    return totals


def pool_modules(totals: dict[str, tuple[float, int]]) -> dict[str, tuple[float, int]]:
    """Totals over all modules (decoder layers): {"source_layer_3": (sum, count), …}."""
    pooled: dict[str, tuple[float, int]] = {}
    for name, (total, count) in totals.items():
        layer = name.rpartition(".")[2]
        sum_so_far, count_so_far = pooled.get(layer, (0.0, 0))
        pooled[layer] = (sum_so_far + total, count_so_far + count)
    return pooled
