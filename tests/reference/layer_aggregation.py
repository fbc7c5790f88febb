"""Layer aggregation (Ampomah's thesis, section 3.2.1), one source position at a time.

Vectors are columns, as in the thesis: W r. `features` is a list of n lists of positions (d,).
"""

import torch


def weighted_sum(matrices, inputs):
    """Eq. (3.1): WS(r) = Σ_i W^i r^i."""
    total = torch.zeros_like(inputs[0])
    for matrix, vector in zip(matrices, inputs, strict=True):
        total = total + matrix @ vector
    return total


def layer_norm(vector, gain, offset, eps=1e-5):
    mean = sum(vector) / len(vector)
    variance = sum((x - mean) ** 2 for x in vector) / len(vector)
    return (vector - mean) / (variance + eps) ** 0.5 * gain + offset


def aggregation_unit(p, inputs):
    """Eq. (3.3); p: W_1, b_1, W_2, b_2 of the FFN, gain and offset of the layer norm."""
    concatenated = torch.cat(list(inputs))
    hidden = p["W_1"] @ concatenated + p["b_1"]
    hidden = torch.stack([x if x > 0 else 0 * x for x in hidden])
    total = p["W_2"] @ hidden + p["b_2"]
    for vector in inputs:
        total = total + vector
    return layer_norm(total, p["gain"], p["offset"])


def linear(unit, parameters, features):
    """Eqs (3.1), (3.4)."""
    return unit(parameters, features)


def iterative(unit, parameters, features):
    """Eqs (3.2), (3.5): H_1 = f^1, H_i = unit([f^i, H_{i-1}])."""
    output = features[0]
    for p, feature in zip(parameters, features[1:], strict=True):
        output = unit(p, [feature, output])
    return output
