"""Distance and entropy of attention (thesis 3.5.3), with loops over sentences, queries and keys."""

from __future__ import annotations

import math


def mean_distance(sentences, head, keys):
    """D̄_h^l: ratio of the corpus's sums; sentences are (H, J, J) weights of real tokens."""
    total = mass = 0.0
    for weights in sentences:
        size = weights.shape[1]
        for i in range(size):
            for j in range(size):
                if keys == "lower" and j > i:
                    continue
                total += float(weights[head, i, j]) * abs(i - j)
                mass += float(weights[head, i, j])
    return total / mass


def mean_entropy(sentences, head, keys):
    """E_h^l(x_i), averaged over all tokens of the corpus; weights (H, J, S)."""
    total, tokens = 0.0, 0
    for weights in sentences:
        for i in range(weights.shape[1]):
            tokens += 1
            for j in range(weights.shape[2]):
                weight = float(weights[head, i, j])
                if (keys == "lower" and j > i) or weight == 0:
                    continue
                total -= weight * math.log(weight)
    return total / tokens
