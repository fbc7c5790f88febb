"""Applies ``--weight-init`` and ``--output-bias-init`` to a recurrent model."""

from __future__ import annotations

from typing import Any

import torch
from fairseq.data import Dictionary
from torch import Tensor, nn

from ...modules.core.dl4mt_init import SCALE
from .config import GRUConfig, LanguageModelConfig


def finish_weights(model: Any, cfg: GRUConfig | LanguageModelConfig, words: Dictionary) -> None:
    """Changes the published initial weights as flags say.

    Args:
        model: with the initial weights of its modules (dl4mt)
        cfg: the settings
        words: that are predicted, with their counts
    """
    if cfg.weight_init != "dl4mt":
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                _redraw(parameter, cfg.weight_init, is_embedding="embed_tokens" in name)
    if cfg.output_bias_init == "unigram":
        model.decoder.output_projection.bias.data = unigram_logits(words)


def _redraw(weight: nn.Parameter, kind: str, *, is_embedding: bool) -> None:
    if is_embedding:
        if kind == "xavier":  # of unit length on average; the row of the padding stays zero
            weight.data.mul_(weight.size(1) ** -0.5 / SCALE)
    elif kind == "xavier":
        nn.init.xavier_uniform_(weight)
    else:
        nn.init.normal_(weight, std=SCALE)


def unigram_logits(dictionary: Dictionary) -> Tensor:
    """Returns the logarithms of the relative frequencies of the types (V), from the dictionary.

    A dictionary counts only words. The end of the sentence gets the count of the most frequent
    word, about one per sentence, and types that never occur get one half. The words that
    ``--output-dictionary-size`` removes add their counts to the unknown word, which replaces them.
    """
    all_counts = torch.tensor(dictionary.count, dtype=torch.float64)
    counts, cut_off = all_counts[: len(dictionary)], all_counts[len(dictionary) :]
    counts[: dictionary.nspecial] = 0
    counts[dictionary.eos()] = counts.max()
    counts[dictionary.unk()] = cut_off.sum()
    counts.clamp_(min=0.5)
    return (counts / counts.sum()).log().float()
