"""Dual contextual module, written out with loops: paper section 4, eqs (6)-(9)."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """LayerNorm of one vector."""
    mean = sum(x) / len(x)
    variance = sum((value - mean) ** 2 for value in x) / len(x)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


def local_context(
    r: Tensor, weight: Tensor, bias: Tensor, norm: tuple[Tensor, Tensor], f: int, causal: bool
) -> Tensor:
    """l_c of eq. (6) for one sentence r (J, d); weight (2d, f·d) as y = W x."""
    length, width = r.shape
    first = -(f - 1) if causal else -(f // 2)
    rows = []
    for t in range(length):
        window = []
        for offset in range(first, first + f):
            inside = 0 <= t + offset < length
            window.append(r[t + offset] if inside else torch.zeros(width, dtype=r.dtype))
        linear = weight @ torch.cat(window) + bias
        gated = linear[:width] * torch.sigmoid(linear[width:])
        rows.append(layer_norm(gated + r[t], *norm))
    return torch.stack(rows)


def feature_interaction(
    a: Tensor,
    b: Tensor,
    weights: tuple[Tensor, Tensor, Tensor],
    biases: tuple[Tensor, Tensor, Tensor],
    heads: int,
    causal: bool,
) -> tuple[Tensor, Tensor]:
    """FI(A, B) of eq. (7): (J, d), and the attention weights (heads, J, J)."""
    length, width = a.shape
    size = width // heads
    q = torch.stack([weights[0] @ row + biases[0] for row in a])
    k = torch.stack([weights[1] @ row + biases[1] for row in b])
    v = torch.stack([weights[2] @ row + biases[2] for row in b])
    output = torch.zeros(length, width, dtype=a.dtype)
    alphas = torch.zeros(heads, length, length, dtype=a.dtype)
    columns = []
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        rows = []
        for t in range(length):
            seen = range(t + 1) if causal else range(length)
            scores = torch.stack([q[t, part] @ k[s, part] / math.sqrt(size) for s in seen])
            exponentials = torch.exp(scores - scores.max())
            alpha = exponentials / exponentials.sum()
            alphas[head, t, : len(alpha)] = alpha
            rows.append(sum(alpha[i] * v[s, part] for i, s in enumerate(seen)))
        columns.append(torch.stack(rows))
    output = torch.cat(columns, dim=1)
    return output, alphas


def dual_context(r: Tensor, p: dict[str, Tensor], heads: int, f: int, causal: bool) -> Tensor:
    """ẑ of eq. (8) for one sentence r (J, d), from the module's named parameters."""
    norm = (p["local.layer_norm.weight"], p["local.layer_norm.bias"])
    l_c = local_context(r, p["local.conv.weight"], p["local.conv.bias"], norm, f, causal)
    ql, qg, kg, vg = p["in_proj.weight"].chunk(4)
    bql, bqg, bkg, bvg = p["in_proj.bias"].chunk(4)
    kl, vl = p["local_proj.weight"].chunk(2)
    bkl, bvl = p["local_proj.bias"].chunk(2)
    h_l, _ = feature_interaction(r, l_c, (ql, kl, vl), (bql, bkl, bvl), heads, causal)
    h_g, _ = feature_interaction(r, r, (qg, kg, vg), (bqg, bkg, bvg), heads, causal)
    rows = []
    for t in range(len(r)):
        rows.append(p["out_proj.weight"] @ torch.cat([h_l[t], h_g[t]]) + p["out_proj.bias"])
    return torch.stack(rows)


def divergence(alpha_g: Tensor, alpha_l: Tensor) -> float:
    """Σ over query rows of JS(α_g, α_l), eqs (10)-(12); α (heads, J, S)."""
    total = 0.0
    heads, length, keys = alpha_g.shape
    for t in range(length):
        g = [max(float(alpha_g[h, t, s]) for h in range(heads)) for s in range(keys)]
        local = [max(float(alpha_l[h, t, s]) for h in range(heads)) for s in range(keys)]
        m = [0.5 * (a + b) for a, b in zip(g, local, strict=True)]
        for p in (g, local):
            for a, b in zip(p, m, strict=True):
                if a > 0:
                    total += 0.5 * a * (math.log(a) - math.log(b))
    return total
