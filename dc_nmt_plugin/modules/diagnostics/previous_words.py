"""Attention of a recurrent decoder to earlier target words (Miculicich Werlen et al. 2018, 8.1).

The readouts record the weights as ``previous_words`` (B, T, T): row t for the prediction at
position t, column i for the word read at position i ≤ t; padding on the right.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..core.recording import Records
from .records import Batch, Diagnostic, Totals


def previous_word_weights(records: Records) -> Tensor | None:
    """Returns the recorded weights (B, T, T); None for a readout without such attention."""
    for tensors in records.values():
        if "previous_words" in tensors:
            return tensors["previous_words"]
    return None


def attending(weights: Tensor, lengths: Tensor) -> Tensor:
    """Returns the predictions (B, T) that attend to something; see `previous_word_totals`.

    Attention over states has nothing to attend to at the first position, so its row is zero.
    """
    real = torch.arange(weights.size(1), device=weights.device) < lengths[:, None]
    return real & (weights.sum(dim=-1) > 0.5)


def previous_word_totals(weights: Tensor, lengths: Tensor) -> Totals:
    """Returns the entropy of the weights, and the share of the last word.

    Args:
        weights: (B, T, T)
        lengths: (B) predictions of each sentence, the end of sentence counted

    Returns:
        ``previous_entropy`` (nats) and ``previous_last`` (0 to 1), summed over all predictions
        that attended to something, and their number
    """
    weights = weights.double()
    counted = attending(weights, lengths)
    entropy = -torch.xlogy(weights, weights).sum(dim=-1)  # (B, T)
    last = weights.diagonal(dim1=1, dim2=2)  # (B, T)
    count = counted.sum()
    return {
        ("previous_entropy",): (entropy[counted].sum(), count),
        ("previous_last",): (last[counted].sum(), count),
    }


def attention_to_previous_words(records: Records, batch: Batch) -> Totals:
    """See :func:`previous_word_totals`; nothing where the readout has no such attention."""
    weights = previous_word_weights(records)
    return {} if weights is None else previous_word_totals(weights, batch.target_lengths)


DIAGNOSTIC = Diagnostic(needs=("previous_words",), totals=attention_to_previous_words)
