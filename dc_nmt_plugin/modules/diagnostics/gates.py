"""Mean gates of context-aware self-attention, from what its modules record.

Context-aware self-attention (AAAI 2019), Figs 2-4. Everything comes as (sum, count), so that the
totals of batches and of workers can be added and divided once, exactly.
"""

from __future__ import annotations

from torch import Tensor

from ..core.recording import Records

GATES = ("lambda_q", "lambda_k")


def token_total(values: Tensor, padding: Tensor | None) -> tuple[float, int]:
    """Sum and number of the values at real tokens.

    Args:
        values: (B, T, 1) or (B, T), one number a token
        padding: (B, T) bool, True at padding, or None
    """
    values = values.double().reshape(values.size(0), values.size(1))
    if padding is None:
        return float(values.sum()), values.numel()
    return float(values.masked_fill(padding, 0.0).sum()), int((~padding).sum())


def gate_totals(
    records: Records, padding: Tensor | None, prefix: str = ""
) -> dict[str, tuple[float, int]]:
    """Sum and number of the gates λ_Q, λ_K over real tokens, for every layer that has them.

    Args:
        records: of one forward pass inside :func:`~dc_nmt_plugin.modules.core.recording.recording`
        padding: (B, T) bool of the sequences that these modules ran on, True at padding, or None
        prefix: only modules whose name starts with it (encoder and decoder have paddings of
            their own), e.g. ``"encoder."``

    Returns:
        {"<module name>.lambda_q": (sum, count), …}
    """
    return {
        f"{module}.{gate}": token_total(tensors[gate], padding)
        for module, tensors in records.items()
        if module.startswith(prefix)
        for gate in GATES
        if gate in tensors
    }
