"""Additive attention, ``e_i = vᵀ tanh(key_i + query)`` (Bahdanau et al. 2015)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .attention import softmax
from .masks import later_keys

BLOCK = 16
"""Queries scored at once: all of them would need T² vectors, half of them for the future."""


def additive_scores(queries: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """
    Args:
        queries: (B, T, A) projected queries
        keys: (B, S, A) projected keys
        vector: (A)

    Returns:
        (B, T, S)
    """
    hidden = (queries[:, :, None] + keys[:, None]).tanh_()  # (B, T, S, A); tanh_ saves a copy
    return hidden @ vector


def causal_additive_attention(
    queries: Tensor, keys: Tensor, values: Tensor, vector: Tensor, *, need_weights: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Attends at each position to all positions up to it.

    Args:
        queries: (B, T, A), the last T of S positions
        keys: (B, S, A)
        values: (B, S, C)
        vector: (A)
        need_weights: return the weights too

    Returns:
        (B, T, C), and the weights (B, T, S) or None
    """
    length, total = queries.size(1), keys.size(1)
    outputs: list[Tensor] = []
    rows: list[Tensor] = []
    for start in range(0, max(length, 1), BLOCK):  # no query: an empty result, in the graph
        block = queries[:, start : start + BLOCK]
        seen = total - length + start + block.size(1)  # what the block's last query sees
        scores = additive_scores(block, keys[:, :seen], vector)  # (B, block, seen)
        later = later_keys(block.size(1), seen, scores.device)
        weights = softmax(scores.masked_fill(later, -math.inf), values.dtype)
        outputs.append(weights @ values[:, :seen])  # (B, block, C)
        if need_weights:
            rows.append(torch.nn.functional.pad(weights, (0, total - seen)))
    return torch.cat(outputs, dim=1), torch.cat(rows, dim=1) if need_weights else None
