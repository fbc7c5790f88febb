"""Context-aware self-attention (AAAI 2019), one sentence and one position at a time.

A transcription of the equations with loops over layers, positions and heads; the matrices are as
in the paper (vectors are rows, x W), with no fused projections.
"""

import math

import torch


def mean_rows(rows):
    """Eq. (8)."""
    total = torch.zeros_like(rows[0])
    for row in rows:
        total = total + row
    return total / len(rows)


def context_vector(inputs, layer, context, position, causal):
    """C's row of `position` in layer `layer` (1-based), or None where there is no context.

    inputs: H^1 … H^l of one sentence without padding, each a list of rows (d,)
    """

    def summary(level):
        rows = inputs[level]
        return mean_rows(rows[: position + 1] if causal else rows)

    parts = []
    if context == "global":
        parts.append(summary(layer - 1))
    if context in ("deep-global", "deep-global+deep"):  # Eq. (10)
        for level in range(layer):
            parts.append(summary(level))
    if context in ("deep", "deep-global+deep"):  # Eq. (9)
        for level in range(layer - 1):
            parts.append(inputs[level][position])
    return torch.cat(parts) if parts else None


def mix(vector, context, u, v_input=None, v_context=None):
    """Eqs (5), (6): the mixed query or key, and its gate; without V the sum of footnote 1."""
    projected = context @ u
    if v_input is None:
        return vector + projected, None
    logit = (vector * v_input).sum() + (projected * v_context).sum()
    gate = 1 / (1 + torch.exp(-logit))
    return (1 - gate) * vector + gate * projected, gate


def context_aware_self_attention(inputs, weights, *, layer, context, on, heads, causal):
    """Output rows (T, d), gates of queries and of keys (lists; None where not mixed).

    inputs: H^1 … H^l of one sentence without padding, each a list of rows (d,)
    weights: W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O and, where mixed, U_Q, VH_Q, VC_Q, U_K, …
    """
    length, width = len(inputs[layer - 1]), inputs[0][0].numel()
    size = width // heads
    queries, keys, values, gates_q, gates_k = [], [], [], [], []
    for t in range(length):
        x = inputs[layer - 1][t]
        query = x @ weights["W_Q"] + weights["b_Q"]
        key = x @ weights["W_K"] + weights["b_K"]
        gate_q = gate_k = None
        c = context_vector(inputs, layer, context, t, causal)
        if c is not None and on in ("queries", "both"):
            query, gate_q = mix(query, c, weights["U_Q"], weights.get("VH_Q"), weights.get("VC_Q"))
        if c is not None and on in ("keys", "both"):
            key, gate_k = mix(key, c, weights["U_K"], weights.get("VH_K"), weights.get("VC_K"))
        queries.append(query)
        keys.append(key)
        values.append(x @ weights["W_V"] + weights["b_V"])
        gates_q.append(gate_q)
        gates_k.append(gate_k)
    rows = []
    for t in range(length):
        seen = t + 1 if causal else length
        parts = []
        for h in range(heads):
            part = slice(h * size, (h + 1) * size)
            logits = [(queries[t][part] * keys[s][part]).sum() for s in range(seen)]
            exponentials = [torch.exp(logit / math.sqrt(size)) for logit in logits]
            normaliser = sum(exponentials)
            output = torch.zeros_like(values[0][part])
            for s in range(seen):
                output = output + exponentials[s] / normaliser * values[s][part]
            parts.append(output)
        rows.append(torch.cat(parts) @ weights["W_O"] + weights["b_O"])
    return torch.stack(rows), gates_q, gates_k
