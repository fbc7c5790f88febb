"""Parts that both recurrent models are built from."""

from __future__ import annotations

from typing import Any

import torch
from fairseq.data import Dictionary
from torch import Tensor, nn

from ...modules.core.dl4mt_init import SCALE, init_linear
from ...modules.residual_context import (
    BesideLastWord,
    ContentResidual,
    ContentScopeResidual,
    MeanResidual,
    ResidualContext,
)
from .config import AND_LAST


def build_embedding(dictionary: Dictionary, width: int) -> nn.Embedding:
    """Word vectors from N(0, 0.01²), zero for padding."""
    matrix = nn.Embedding(len(dictionary), width, padding_idx=dictionary.pad())
    nn.init.normal_(matrix.weight, std=SCALE)
    nn.init.zeros_(matrix.weight[dictionary.pad()])
    return matrix


def build_output_projection(
    vocabulary: int, width: int, *, tied_to: nn.Embedding | None
) -> nn.Linear:
    """Features of `width` → vocabulary, with a bias; the weight is that of `tied_to`, if given."""
    projection = init_linear(nn.Linear(width, vocabulary))
    if tied_to is not None:
        projection.weight = tied_to.weight
    return projection


def build_residual(cfg: Any) -> ResidualContext:
    """The module for ``cfg.readout``; the last word for the baselines."""
    summary = cfg.readout.removesuffix(AND_LAST)
    residual = ResidualContext()
    if summary == "mean":
        residual = MeanResidual()
    elif summary == "content":
        residual = ContentResidual(embed_dim=cfg.embed_dim)
    elif summary == "content+scope":
        residual = ContentScopeResidual(embed_dim=cfg.embed_dim, state_dim=cfg.hidden_dim)
    return residual if summary == cfg.readout else BesideLastWord(residual)


def decoder_options(cfg: Any) -> dict[str, Any]:
    """Plain values that every decoder takes."""
    return {
        "dropout": dropout_between(cfg),
        "readout_dropout": cfg.dropout,
        "max_target_positions": cfg.max_target_positions,
    }


def dropout_between(cfg: Any) -> float:
    """Dropout of everything but the readout."""
    dropout: float = cfg.dropout if cfg.dropout_after == "all" else 0.0
    return dropout


def finish_weights(model: Any, cfg: Any, dictionary: Dictionary) -> None:
    """What ``--weight-init`` and ``--output-bias-init`` change of the published initialisation.

    Args:
        model: as its modules initialised it (dl4mt)
        cfg: :class:`GRUConfig` or :class:`LanguageModelConfig`
        dictionary: of the words that are predicted, with their counts
    """
    if cfg.weight_init != "dl4mt":
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                _redraw(parameter, cfg.weight_init, is_embedding="embed_tokens" in name)
    if cfg.output_bias_init == "unigram":
        model.decoder.output_projection.bias.data = unigram_logits(dictionary)


def _redraw(weight: nn.Parameter, kind: str, *, is_embedding: bool) -> None:
    if is_embedding:
        if kind == "xavier":  # of unit length on average; the row of the padding stays zero
            weight.data.mul_(weight.size(1) ** -0.5 / SCALE)
    elif kind == "xavier":
        nn.init.xavier_uniform_(weight)
    else:
        nn.init.normal_(weight, std=SCALE)


def unigram_logits(dictionary: Dictionary) -> Tensor:
    """Logarithms of the types' relative frequencies (V), by the dictionary's counts.

    A dictionary counts words only: the end of the sentence gets the most frequent word's count,
    about one a sentence; types that never occur get one half. Where ``--output-dictionary-size``
    cuts words off, their counts are those of the unknown word, which is predicted in their place.
    """
    all_counts = torch.tensor(dictionary.count, dtype=torch.float64)
    counts, cut_off = all_counts[: len(dictionary)], all_counts[len(dictionary) :]
    counts[: dictionary.nspecial] = 0
    counts[dictionary.eos()] = counts.max()
    counts[dictionary.unk()] = cut_off.sum()
    counts.clamp_(min=0.5)
    return (counts / counts.sum()).log().float()
