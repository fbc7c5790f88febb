"""Encoder layers that the decoder attends to (axis B), by their 1-based numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
from torch import Tensor


def top_layers(num_encoder_layers: int, num_source_layers: int) -> list[int]:
    """Returns the numbers of the layers in F^s = [f^1 … f^n], lowest first, without embeddings.

    Raises:
        ValueError: unless 1 ≤ num_source_layers ≤ num_encoder_layers
    """
    if not 1 <= num_source_layers <= num_encoder_layers:
        raise ValueError(
            f"the top {num_source_layers} of {num_encoder_layers} encoder layers do not exist: "
            f"choose 1 to {num_encoder_layers}"
        )
    return list(range(num_encoder_layers - num_source_layers + 1, num_encoder_layers + 1))


def mask_layers(
    features: Sequence[Tensor], masked: Collection[int], layers: Sequence[int]
) -> list[Tensor]:
    """Sets f^i := 0 for the masked layers, at decoding time (Ampomah's thesis, section 3.5.4).

    Apply it before layer aggregation or the projections of keys and values, and after the
    normalisation of pre-norm encoders. With biases in these projections, a masked layer still
    contributes their constants.

    Args:
        features: outputs (sentences, M, C) of the encoder layers `layers`, in the same order
        masked: numbers of the layers to mask, 1 = the lowest encoder layer
        layers: numbers of the layers whose outputs `features` are

    Returns:
        new list; unmasked tensors are the same objects

    Raises:
        ValueError: a masked layer is not among `layers`
    """
    unknown = sorted(set(masked) - set(layers))
    if unknown:
        raise ValueError(
            f"cannot mask encoder layers {unknown}: the decoder attends to layers {list(layers)}"
        )
    return [
        torch.zeros_like(feature) if layer in masked else feature
        for layer, feature in zip(layers, features, strict=True)
    ]
