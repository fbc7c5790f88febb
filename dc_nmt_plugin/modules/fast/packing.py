"""Packs real positions of padded sequences into rows of a matrix, so that products skip padding.

Shapes: B sequences, T positions, C features, N real positions.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_WORTH_PACKING = 0.95


def real_rows(padding: Tensor) -> Tensor:
    """Returns (N) indices of the real positions among the B * T, from padding (B, T)."""
    return (~padding).flatten().nonzero().squeeze(1)


def real_rows_and_side(padding: Tensor) -> tuple[Tensor, bool]:
    """Returns :func:`real_rows`, and True when some sequence is padded on the left.

    The host waits only once for both results. With padding on the left, extra entries follow the
    rows, so the number of entries encodes the second result.
    """
    marks = padding.numel() + 1
    on_left = padding[:, 0].any().expand(marks)
    entries = torch.cat([(~padding).flatten(), on_left]).nonzero().squeeze(1)
    if len(entries) >= marks:  # more than there are positions
        return entries[:-marks], True
    return entries, False


def worth_packing(rows: Tensor, padding: Tensor) -> Tensor | None:
    """Returns `rows`, or None when there is too little padding for packing to save time."""
    return rows if len(rows) < _WORTH_PACKING * padding.numel() else None


def pack(x: Tensor, rows: Tensor) -> Tensor:
    """Returns the real positions, (B, T, C) → (N, C)."""
    packed: Tensor = _Pack.apply(x.flatten(0, 1), rows)  # type: ignore[no-untyped-call]
    return packed


def unpack(packed: Tensor, rows: Tensor, batch: int, length: int) -> Tensor:
    """Reverses :func:`pack`, (N, C) → (B, T, C), with zeros at padding."""
    flat = packed.new_zeros(batch * length, packed.size(-1)).index_copy(0, rows, packed)
    return flat.view(batch, length, -1)


class _Pack(torch.autograd.Function):
    """Selects rows. The gradient of torch's ``index_select`` adds rows one by one; here all
    differ."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.total = x.size(0)
        return x.index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        return grad.new_zeros(ctx.total, grad.size(1)).index_copy(0, rows, grad), None
