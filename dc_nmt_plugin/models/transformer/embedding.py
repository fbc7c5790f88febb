"""Token embeddings, for both sides."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ...modules.fast.dropout import dropout


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
