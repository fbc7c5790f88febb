"""Auxiliary information dependency (thesis, eqs 4.4-4.7), with loops."""

from __future__ import annotations

import math


def softmax(logits):
    exponentials = [math.exp(float(x) - float(max(logits))) for x in logits]
    return [x / sum(exponentials) for x in exponentials]


def divergence(p, q):
    """D_KL(p ‖ q), natural logarithm."""
    return sum(
        float(a) * (math.log(float(a)) - math.log(float(b)))
        for a, b in zip(p, q, strict=True)
        if float(a) > 0
    )


def output_dependency(main, independent):
    """D_Y of eq. (4.5) for one sentence's logits (T, V)."""
    values = [
        divergence(softmax(a), softmax(b)) for a, b in zip(main, independent, strict=True)
    ]  # Eq. (4.4)
    return sum(values) / len(values)


def layer_dependency(main, independent):
    """D^l of eq. (4.7) for one sentence's weights (H, Z, J): rows averaged, then heads."""
    heads = []
    for own, other in zip(main, independent, strict=True):
        rows = [divergence(a, b) for a, b in zip(own, other, strict=True)]  # Eq. (4.6)
        heads.append(sum(rows) / len(rows))
    return sum(heads) / len(heads)
