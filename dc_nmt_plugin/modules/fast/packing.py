"""Packs real positions of padded sequences into rows of a matrix, so that products skip padding.

Shapes: B sequences, T positions, C features, N real positions.
"""

from __future__ import annotations

from torch import Tensor

_WORTH_PACKING = 0.95


def real_rows(padding: Tensor) -> Tensor:
    """Returns (N) indices of the real positions among the B * T, from padding (B, T)."""
    return (~padding).flatten().nonzero().squeeze(1)


def worth_packing(rows: Tensor, padding: Tensor) -> Tensor | None:
    """Returns `rows`, or None when there is too little padding for packing to save time."""
    return rows if len(rows) < _WORTH_PACKING * padding.numel() else None


def pack(x: Tensor, rows: Tensor) -> Tensor:
    """Returns the real positions, (B, T, C) → (N, C)."""
    return x.flatten(0, 1).index_select(0, rows)


def unpack(packed: Tensor, rows: Tensor, batch: int, length: int) -> Tensor:
    """Reverses :func:`pack`, (N, C) → (B, T, C), with zeros at padding."""
    flat = packed.new_zeros(batch * length, packed.size(-1)).index_copy(0, rows, packed)
    return flat.view(batch, length, -1)
