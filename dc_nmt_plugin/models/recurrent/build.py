"""Parts of both recurrent models."""

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
    """Builds word vectors from N(0, 0.01²), with zeros for padding."""
    matrix = nn.Embedding(len(dictionary), width, padding_idx=dictionary.pad())
    nn.init.normal_(matrix.weight, std=SCALE)
    nn.init.zeros_(matrix.weight[dictionary.pad()])
    return matrix


def build_output_projection(
    vocabulary: int, width: int, *, tied_to: nn.Embedding | None
) -> nn.Linear:
    """Builds the projection from `width` to the vocabulary, with a bias; `tied_to` gives the
    weight."""
    projection = init_linear(nn.Linear(width, vocabulary))
    if tied_to is not None:
        projection.weight = tied_to.weight
    return projection


def build_residual(cfg: Any) -> ResidualContext:
    """Builds the module for ``cfg.readout``; for the baselines, the last word."""
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
    """Returns the plain values that every decoder takes."""
    return {
        "dropout": dropout_between(cfg),
        "readout_dropout": cfg.dropout,
        "max_target_positions": cfg.max_target_positions,
    }


def dropout_between(cfg: Any) -> float:
    """Returns the dropout of all parts except the readout."""
    dropout: float = cfg.dropout if cfg.dropout_after == "all" else 0.0
    return dropout


def finish_weights(model: Any, cfg: Any, dictionary: Dictionary) -> None:
    """Applies ``--weight-init`` and ``--output-bias-init`` to the published initialisation.

    Args:
        model: model with the initial weights of its modules (dl4mt)
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
