"""Computes softmax-weighted averages of all items so far, for scores independent of position.

With scores u_i and values y_i, position t gets ``d_t = Σ_{i≤t} exp(u_i) y_i / Σ_{i≤t} exp(u_i)``.
The past is summarised by one score and one average. So a step costs O(1), and a sequence needs no
loop over its steps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

CHUNK = 64
"""Positions that are averaged at once; beyond it, chunks follow each other through a summary."""


class Summary(NamedTuple):
    """Summarises the items so far.

    Attributes:
        peak: (B, 1) the highest score
        mass: (B, 1) Σ exp(u_i - peak), at least 1, so that nothing overflows; the peak is stored
            separately, so scores of ±10⁴ lose no digits
        average: (B, 1, C) the weighted average
    """

    peak: Tensor
    mass: Tensor
    average: Tensor


def running_attention(
    scores: Tensor, values: Tensor, past: Summary | None = None
) -> tuple[Tensor, Summary]:
    """Attends at each position to all positions up to it.

    Args:
        scores: (B, T)
        values: (B, T, C)
        past: summary of the earlier items, or None

    Returns:
        the averages (B, T, C) and the summary after the last position
    """
    # half precision resolves neither large scores nor long sums
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    averages: list[Tensor] = []
    for chunk_scores, chunk_values in zip(
        scores.split(CHUNK, dim=1), values.split(CHUNK, dim=1), strict=True
    ):
        average, past = _advance(chunk_scores, chunk_values, past)
        averages.append(average)
    assert past is not None
    return (averages[0] if len(averages) == 1 else torch.cat(averages, dim=1)), past


def _advance(scores: Tensor, values: Tensor, past: Summary | None) -> tuple[Tensor, Summary]:
    # d_t does not depend on the peak that is subtracted, so no gradient flows through it
    peak = scores.detach().cummax(dim=1).values  # (B, T)
    if past is not None:
        peak = torch.maximum(peak, past.peak)
    weights = causal_logits(scores, peak).exp()  # (B, T, T)
    mass = weights.sum(dim=-1)  # (B, T)
    total = weights.type_as(values) @ values  # (B, T, T) @ (B, T, C)
    if past is not None:
        carried = past.mass * (past.peak - peak).exp()  # (B, T)
        mass = mass + carried
        total = total + carried.type_as(values)[:, :, None] * past.average
    average = total / mass.type_as(values)[:, :, None]  # (B, T, C)
    return average, Summary(peak[:, -1:], mass[:, -1:], average[:, -1:])


def causal_logits(scores: Tensor, offset: Tensor) -> Tensor:
    """Returns (B, T, T): ``scores[:, i] - offset[:, t]`` in row t, -inf at positions i > t."""
    logits = scores[:, None, :] - offset[:, :, None]
    if scores.size(1) == 1:
        return logits
    later = torch.ones(logits.shape[1:], dtype=torch.bool, device=logits.device).triu(1)
    return logits.masked_fill(later, -math.inf)


def running_weights(scores: Tensor) -> Tensor:
    """Returns the weights for analysis, (B, T) → (B, T, T), row t over positions ≤ t."""
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    return torch.softmax(causal_logits(scores, torch.zeros_like(scores)), dim=-1)
