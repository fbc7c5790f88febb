"""Token embeddings, for both sides."""

from __future__ import annotations

import math
from typing import Any

from fairseq import utils
from fairseq.data import Dictionary
from fairseq.modules import PositionalEmbedding
from torch import Tensor, nn

from ...errors import ConfigError
from ...modules.core.dropout import dropout


class TokenEmbedding(nn.Module):
    """Dropout(Norm(scale · E[token] + P[position])); the norm only on request.

    Args:
        tokens: the embedding matrix, possibly shared
        positions: fairseq's positional embedding, or None
        scale: sqrt(width) (Vaswani et al. 2017, 3.4) or 1
        layer_norm: norm of the sum, or None
        dropout: dropout probability
    """

    def __init__(
        self,
        *,
        tokens: nn.Embedding,
        positions: nn.Module | None,
        scale: float,
        layer_norm: nn.Module | None,
        dropout: float,
    ) -> None:
        super().__init__()
        self.tokens = tokens
        self.positions = positions
        self.scale = scale
        self.layer_norm = layer_norm
        self.dropout = dropout

    def forward(self, tokens: Tensor, *, incremental_state: Any = None) -> Tensor:
        """
        Args:
            tokens: (B, T) token ids
            incremental_state: when decoding, only the last token is embedded

        Returns:
            (B, T, C), or (B, 1, C) when decoding
        """
        positions = None
        if self.positions is not None:
            positions = self.positions(tokens, incremental_state=incremental_state)
        if incremental_state is not None:
            tokens = tokens[:, -1:]
            positions = None if positions is None else positions[:, -1:]
        x = self.scale * self.tokens(tokens)
        if positions is not None:
            x = x + positions
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        return dropout(x, self.dropout, self.training)


def build_token_matrix(dictionary: Dictionary, width: int, path: str | None) -> nn.Embedding:
    """Builds an embedding matrix from N(0, 1/width), or from pretrained vectors.

    Raises:
        ConfigError: `path` cannot be read as embeddings
    """
    matrix = nn.Embedding(len(dictionary), width, padding_idx=dictionary.pad())
    nn.init.normal_(matrix.weight, mean=0, std=width**-0.5)
    nn.init.zeros_(matrix.weight[dictionary.pad()])
    if path:
        try:
            utils.load_embedding(utils.parse_embedding(path), dictionary, matrix)
        except StopIteration:
            raise ConfigError([f"embeddings {path}: the file is empty"]) from None
        except (OSError, ValueError, RuntimeError) as error:
            raise ConfigError([f"embeddings {path}: {error}"]) from error
    return matrix


def build_token_embedding(
    tokens: nn.Embedding,
    *,
    max_positions: int,
    learned: bool,
    no_positions: bool,
    no_scale: bool,
    layer_norm: nn.Module | None,
    dropout: float,
) -> TokenEmbedding:
    """Builds the embedding of one side around a (possibly shared) matrix."""
    width = tokens.embedding_dim
    positions = None
    if not no_positions:
        positions = PositionalEmbedding(max_positions, width, tokens.padding_idx, learned=learned)
    return TokenEmbedding(
        tokens=tokens,
        positions=positions,
        scale=1.0 if no_scale else math.sqrt(width),
        layer_norm=layer_norm,
        dropout=dropout,
    )
