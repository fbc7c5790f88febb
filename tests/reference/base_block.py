"""The base block's parts, written out with loops from their papers."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def rms_norm(a: Tensor, gain: Tensor) -> Tensor:
    """Zhang and Sennrich 2019, eq. (4), of one vector: a_i / RMS(a) g_i."""
    rms = math.sqrt(sum(float(value) ** 2 for value in a) / len(a))
    return torch.stack([value / rms * g for value, g in zip(a, gain, strict=True)])


def swiglu_network(x: Tensor, w: Tensor, v: Tensor, w2: Tensor) -> Tensor:
    """Shazeer 2020, eq. (6), of one vector x (d): (Swish_1(x W) ⊗ x V) W_2."""
    hidden = []
    for column in range(w.size(1)):
        gate = float(x @ w[:, column])
        swish = gate / (1 + math.exp(-gate))
        hidden.append(swish * float(x @ v[:, column]))
    return torch.tensor(hidden, dtype=x.dtype) @ w2


def rotate(x: Tensor, position: int) -> Tensor:
    """Su et al. 2021, eqs (14), (15), of one vector: R^d_{Θ,m} x, by its 2 × 2 blocks."""
    width = len(x)
    matrix = torch.zeros(width, width, dtype=x.dtype)
    for i in range(1, width // 2 + 1):
        angle = position * 10_000 ** (-2 * (i - 1) / width)
        a, b = 2 * i - 2, 2 * i - 1
        matrix[a, a], matrix[a, b] = math.cos(angle), -math.sin(angle)
        matrix[b, a], matrix[b, b] = math.sin(angle), math.cos(angle)
    return matrix @ x


def relative_attention(
    q: Tensor, k: Tensor, v: Tensor, key_table: Tensor, value_table: Tensor, *, causal: bool
) -> Tensor:
    """Shaw et al. 2018, eqs (3)-(5), of one head: q, k, v (T, K), tables (2 clip + 1, K)."""
    clip, width = len(key_table) // 2, q.size(1)

    def row(i: int, j: int) -> int:
        return max(-clip, min(clip, j - i)) + clip

    outputs = []
    for i in range(len(q)):
        seen = range(i + 1) if causal else range(len(k))
        scores = [float(q[i] @ (k[j] + key_table[row(i, j)])) / math.sqrt(width) for j in seen]
        total = sum(math.exp(score) for score in scores)
        z = torch.zeros(width, dtype=q.dtype)
        for j, score in zip(seen, scores, strict=True):
            z = z + math.exp(score) / total * (v[j] + value_table[row(i, j)])
        outputs.append(z)
    return torch.stack(outputs)
