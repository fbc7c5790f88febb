"""Cross aggregation (NLPCC 2019), one sentence, one head and one position at a time.

Algorithm 1 as it is printed, on lists of vote vectors; padding is simply not there.
"""

import math

import torch
from reference.conditional_gru import softmax


def squash(s):
    """Eq. (7), 0 at 0."""
    squared = (s * s).sum()
    if float(squared.detach()) == 0.0:
        return torch.zeros_like(s)
    return squared / (1 + squared) * s / squared.sqrt()


def simple_routing(votes, iterations, initial=None):
    """Algorithm 1 for one output capsule: Ω, and B after the last update.

    votes: the vectors V_{i→n} of the input capsules i
    """
    b = list(initial) if initial is not None else [votes[0].new_zeros(()) for _ in votes]
    omega = torch.zeros_like(votes[0])
    for _ in range(iterations):
        c = softmax(b)  # line 4
        s = torch.zeros_like(votes[0])
        for i in range(len(votes)):
            s = s + c[i] * votes[i]  # Eq. (8)
        omega = squash(s)  # line 5
        b = [b[i] + (omega * votes[i]).sum() for i in range(len(votes))]  # line 6
    return omega, b


def cross_aggregation(rows, weights, *, heads, routing, init, iterations, head_weights):
    """Output rows (T, d) and Λ (H numbers, or None) of one sentence without padding.

    rows: list of T vectors (d,)
    weights: W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O and, with vertical routing, W (H × H)
    """
    length, width = len(rows), rows[0].numel()
    size = width // heads
    e, values = {}, {}
    for h in range(heads):
        part = slice(h * size, (h + 1) * size)
        queries = [(x @ weights["W_Q"] + weights["b_Q"])[part] for x in rows]
        keys = [(x @ weights["W_K"] + weights["b_K"])[part] for x in rows]
        values[h] = [(x @ weights["W_V"] + weights["b_V"])[part] for x in rows]
        for t in range(length):  # Eqs (4), (5)
            logits = [(queries[t] * keys[m]).sum() / math.sqrt(size) for m in range(length)]
            e[t, h] = torch.stack(logits)
    aggregated = dict(e)
    lambdas = None
    if routing in ("vertical", "both") and iterations > 0:
        omegas, voting = {}, [0.0 for _ in range(heads)]
        for t in range(length):  # Eqs (10), (11)
            omegas[t], b = simple_routing([e[t, h] for h in range(heads)], iterations)
            for h in range(heads):
                voting[h] = voting[h] + b[h]
        if head_weights == "mean":
            voting = [number / length for number in voting]
        scores = []
        for h in range(heads):
            scores.append(sum(weights["W"][h, g] * voting[g] for g in range(heads)))
        lambdas = softmax(scores)  # Eq. (13)
        for t in range(length):
            for h in range(heads):
                aggregated[t, h] = aggregated[t, h] + lambdas[h] * omegas[t]  # Eq. (12)
    if routing in ("horizontal", "both") and iterations > 0:
        for t in range(length):
            for h in range(heads):
                votes = [e[s, h] for s in range(t + 1)]
                initial = [e[t, h][s] for s in range(t + 1)] if init == "self" else None  # (15)
                omega, _ = simple_routing(votes, iterations, initial)
                aggregated[t, h] = aggregated[t, h] + omega  # Eq. (14)
    outputs = []
    for t in range(length):
        parts = []
        for h in range(heads):
            attention = softmax(list(aggregated[t, h]))  # Eq. (9)
            parts.append(sum(attention[m] * values[h][m] for m in range(length)))
        outputs.append(torch.cat(parts) @ weights["W_O"] + weights["b_O"])
    return torch.stack(outputs), lambdas
