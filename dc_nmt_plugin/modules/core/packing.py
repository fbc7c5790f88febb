"""Real positions of padded sequences as rows of a matrix, so that products leave padding out.

Shapes: B sequences, T positions, C features, N real positions.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_WORTH_PACKING = 0.95


def real_rows(padding: Tensor) -> Tensor:
    """(N) indices of the real positions among the B * T, from padding (B, T), True at padding."""
    return (~padding).flatten().nonzero().squeeze(1)


def real_rows_and_side(padding: Tensor) -> tuple[Tensor, bool]:
    """:func:`real_rows`, and whether some sequence is padded on the left.

    The host waits once for both: where some is, more marks follow the rows than there are
    positions, so that the number of what is found tells it.
    """
    marks = padding.numel() + 1
    on_left = padding[:, 0].any().expand(marks)
    found = torch.cat([(~padding).flatten(), on_left]).nonzero().squeeze(1)
    return (found[:-marks], True) if len(found) >= marks else (found, False)


def worth_packing(rows: Tensor, padding: Tensor) -> Tensor | None:
    """`rows`, or None where so little is padding that packing costs what it saves."""
    return rows if len(rows) < _WORTH_PACKING * padding.numel() else None


def pack(x: Tensor, rows: Tensor) -> Tensor:
    """(B, T, C) → (N, C), its real positions."""
    packed: Tensor = _Pack.apply(x.flatten(0, 1), rows)  # type: ignore[no-untyped-call]
    return packed


def unpack(packed: Tensor, rows: Tensor, batch: int, length: int) -> Tensor:
    """(N, C) → (B, T, C), zero at padding; undoes :func:`pack`."""
    flat = packed.new_zeros(batch * length, packed.size(-1)).index_copy(0, rows, packed)
    return flat.view(batch, length, -1)


class _Pack(torch.autograd.Function):
    """index_select, whose own gradient adds up rows one by one: here no two are the same."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.total = x.size(0)
        return x.index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        return grad.new_zeros(ctx.total, grad.size(1)).index_copy(0, rows, grad), None
