"""Simple routing-by-agreement over attention logits.

S. Sabour, N. Frosst, G. E. Hinton, "Dynamic Routing Between Capsules", NIPS 2017, in the form of
J. Cao, H. Zhao, K. Yu, "Cross Aggregation of Multi-Head Attention for Neural Machine Translation",
NLPCC 2019, Algorithm 1. Equation numbers are those of the latter.

Every row of logits e_{l,h} (query l, head h; M numbers) is a vote, Eq. (10). Formulas have the
paper's symbols: votes V, voting weights B, coefficients C, capsules S before squashing and Ω after.
In shapes, (B, H, T, M) are sequences, heads, queries and keys (M = T).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor


def squash_scale(squared_norm: Tensor) -> Tensor:
    """Returns |s| / (1 + |s|²) from |s|²; squash(s) is this times s (Eq. 7).

    At 0, and below, which rounding can produce, it is the root of the smallest normal number, and
    its gradient is 0, because that of the square root is infinite.
    """
    tiny = torch.finfo(squared_norm.dtype).tiny
    squared_norm = F.threshold(squared_norm, tiny, tiny)  # at most tiny → tiny, without gradient
    return squared_norm.sqrt() / (1 + squared_norm)


def squash(s: Tensor) -> Tensor:
    """Returns |s|² / (1 + |s|²) · s / |s| of the vectors s (..., M); 0 at 0 (Eq. 7)."""
    return squash_scale(s.square().sum(dim=-1, keepdim=True)) * s


def route(
    voting: Tensor,
    agree: Callable[[Tensor], Tensor],
    iterations: int,
    dim: int,
) -> tuple[Tensor, Tensor]:
    """Runs Algorithm 1 up to the coefficients of the last iteration.

    Args:
        voting: the initial voting weights B
        agree: from coefficients C to S · V, shaped as B, with S = Σ C V (Eq. 8)
        iterations: at least 1
        dim: the axis of the input capsules, which the softmax normalises

    Returns:
        C of the last iteration, and the B it comes from: without the update that ends this
        iteration
    """
    coefficients = torch.softmax(voting, dim)  # line 4
    for _ in range(iterations - 1):
        agreement = agree(coefficients)
        squared_norm = (coefficients * agreement).sum(dim, keepdim=True)  # |S|² = Σ C (S · V)
        voting = voting + squash_scale(squared_norm) * agreement  # line 6: B += Ω · V
        coefficients = torch.softmax(voting, dim)
    return coefficients, voting


def route_heads(votes: Tensor, iterations: int) -> tuple[Tensor, Tensor, Tensor]:
    """Routes vertically: at every position over the heads (Eq. 11).

    It works element by element: with few heads, products of small Gram matrices take longer.

    Args:
        votes: (B, H, T, M)
        iterations: at least 1

    Returns:
        capsules Ω (B, T, M), coefficients (B, H, T, 1), accumulated voting weights (B, H, T, 1)
    """

    def capsules_of(coefficients: Tensor) -> Tensor:
        return (coefficients * votes).sum(dim=1, keepdim=True)  # S, Eq. (8), (B, 1, T, M)

    def agree(coefficients: Tensor) -> Tensor:
        return (capsules_of(coefficients) * votes).sum(-1, keepdim=True)  # (B, H, T, 1)

    voting = votes.new_zeros(*votes.shape[:3], 1)
    coefficients, voting = route(voting, agree, iterations, dim=1)
    capsules = squash(capsules_of(coefficients))  # (B, 1, T, M)
    voting = voting + (capsules * votes).sum(-1, keepdim=True)  # line 6, last iteration
    return capsules.squeeze(1), coefficients, voting


def route_positions(
    votes: Tensor, iterations: int, mask: Tensor | None, *, from_votes: bool
) -> tuple[Tensor, Tensor]:
    """Routes horizontally: in every head over the positions t ≤ l, for all l at once.

    All outputs share their votes, so S = C E and S Eᵀ = C G with the Gram matrix G = E Eᵀ: one
    product per iteration, no loop over l.

    Args:
        votes: (B, H, T, T), the matrices E
        iterations: at least 1
        mask: 0 where position l (rows) takes t, else -inf, (B, 1, T, T); None: takes all t ≤ l
        from_votes: voting weights start at the votes themselves (Eq. 15), not at zero

    Returns:
        capsules Ω (B, H, T, T), coefficients C_{t→h} (B, H, T, T) of position l (rows)
    """
    gram = votes @ votes.transpose(-2, -1) if iterations > 1 else votes  # (B, H, T, T)

    def agree(coefficients: Tensor) -> Tensor:
        return coefficients @ gram  # (B, H, T, T) @ (B, H, T, T) = S Eᵀ

    if mask is None:
        mask = votes.new_full(votes.shape[-2:], -math.inf).triu(1)
    # adding to -inf leaves -inf: masking once is enough
    voting = votes + mask if from_votes else mask
    coefficients, _ = route(voting, agree, iterations, dim=-1)
    capsules = squash(coefficients @ votes)  # (B, H, T, T) @ (B, H, T, T)
    return capsules, coefficients.expand_as(votes)
