"""Parts that both recurrent models are built from."""

from __future__ import annotations

from typing import Any

from fairseq.data import Dictionary
from torch import nn

from ...modules.dl4mt_init import SCALE, init_linear
from ...modules.residual_context import (
    ContentResidual,
    ContentScopeResidual,
    MeanResidual,
    ResidualContext,
)


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
    if cfg.readout == "mean":
        return MeanResidual()
    if cfg.readout == "content":
        return ContentResidual(embed_dim=cfg.embed_dim)
    if cfg.readout == "content+scope":
        return ContentScopeResidual(embed_dim=cfg.embed_dim, state_dim=cfg.hidden_dim)
    return ResidualContext()


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


def finish_weights(model: nn.Module, cfg: Any) -> None:
    """``--weight-init normal``: draw the orthogonal matrices again, from N(0, 0.01²)."""
    if cfg.weight_init == "normal":
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1 and "embed_tokens" not in name:
                nn.init.normal_(parameter, std=SCALE)
