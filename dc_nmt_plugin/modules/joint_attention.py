"""Attention with joint weights over several source layers, without a product per layer and step.

With the rows W^{j,h} of the query projection and the columns O^{i,h} of the output projection for a
layer and a head,

    Σ_j q^{j,h} k^{j,h}ᵀ = x (Σ_j W^{j,h}ᵀ k^{j,h}ᵀ) + Σ_j b^{j,h} k^{j,h}ᵀ
    Σ_i a^h v^{i,h} O^{i,h}ᵀ = a^h (Σ_i v^{i,h} O^{i,h}ᵀ)

and the sums in brackets are of the sentence: as many numbers as the keys and values of H source
layers. A decoding step is one product for the scores of all heads, and one for the output.

Shapes: S sentences, M source positions, n source layers, C model width, H heads, K = C / H.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def sums_of_sentences(
    keys: Tensor,
    values: Tensor,
    query_proj: nn.Linear,
    output_proj: nn.Linear,
    num_heads: int,
    padding: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the sums for scores (S, C, H·M), in the order in which a step reads them, those for
    the output (S, H·M, C), and what is added to scaled scores (S, 1, H·M), -inf at padding.

    Args:
        keys, values: of all layers, (S, M, n·C) or, of summed values, (S, M, C)
        query_proj: x → q^1 … q^n
        output_proj: contexts → output
        num_heads: H
        padding: (S, M) bool, True at padding, or None
    """
    sentences = len(keys)
    head_dim = query_proj.in_features // num_heads

    def by_head(x: Tensor) -> Tensor:  # (N, layers·H·K) → (H, N, layers·K)
        return x.view(len(x), -1, num_heads, head_dim).permute(2, 0, 1, 3).flatten(2)

    def by_sentence(x: Tensor) -> Tensor:  # (H, S·M, …) → (S, H·M, …)
        return x.view(num_heads, sentences, -1, x.size(2)).transpose(0, 1).flatten(1, 2)

    of_queries = by_head(query_proj.weight.t()).transpose(1, 2)  # (H, n·K, C)
    of_contexts = by_head(output_proj.weight).transpose(1, 2)
    heads = by_head(keys.flatten(0, 1))  # (H, S·M, n·K)
    for_scores = (heads @ of_queries).unflatten(1, (sentences, -1))  # (H, S, M, C)
    for_scores = for_scores.permute(1, 3, 0, 2).flatten(2)
    for_output = by_sentence(by_head(values.flatten(0, 1)) @ of_contexts)
    if query_proj.bias is None:
        bias = heads.new_zeros(*heads.shape[:2], 1)
    else:
        bias = heads @ by_head(query_proj.bias[None]).transpose(1, 2)  # (H, S·M, 1)
    added = by_sentence(bias / math.sqrt(head_dim)).transpose(1, 2)
    if padding is not None:
        added = added.masked_fill(padding.repeat(1, num_heads)[:, None], -math.inf)
    return for_scores, for_output, added


def joint_logits(queries: Tensor, for_scores: Tensor, added: Tensor, num_heads: int) -> Tensor:
    """Returns Σ_j α^j (S, Q, H, M) for queries x (S, Q, C)."""
    scale = 1 / math.sqrt(queries.size(-1) // num_heads)
    logits: Tensor = torch.baddbmm(added, queries, for_scores, alpha=scale)
    by_head: Tensor = logits.unflatten(-1, (num_heads, -1))
    return by_head
