"""One bidirectional GRU over the source, and padding, which recurrent layers need on the right."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from fairseq.models import FairseqEncoder
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ...modules.core.initial_weights import init_recurrent
from ...modules.core.source import Source


class LeftAligned(NamedTuple):
    """Holds token ids with padding on the right."""

    tokens: Tensor  # (B, T)
    back: Tensor | None  # (B, T) new position of each original position; None if nothing moved

    def restore(self, x: Tensor) -> Tensor:
        """Returns (B, T, C) in the original layout."""
        if self.back is None:
            return x
        return x.gather(1, self.back[:, :, None].expand(-1, -1, x.size(2)))


def left_align(tokens: Tensor, padding_idx: int) -> LeftAligned:
    """Moves the padding of each row of `tokens` (B, T) from the front to the end."""
    if not bool(tokens[:, 0].eq(padding_idx).any()):
        return LeftAligned(tokens, None)
    length = tokens.size(1)
    in_front = tokens.eq(padding_idx).cumprod(dim=1).sum(dim=1, keepdim=True)  # (B, 1)
    positions = torch.arange(length, device=tokens.device)
    forth = (positions + in_front) % length  # (B, T)
    return LeftAligned(tokens.gather(1, forth), (positions - in_front) % length)


class GRUEncoder(FairseqEncoder):
    """Annotations ``h_i = [→h_i; ←h_i]`` (Miculicich Werlen et al. 2018, eq. 2).

    Args:
        embed_tokens: (V, e)
        hidden_dim: width d of each direction
        dropout: of the embeddings and the annotations
    """

    def __init__(
        self,
        dictionary: Dictionary,
        embed_tokens: nn.Embedding,
        *,
        hidden_dim: int,
        dropout: float,
        max_source_positions: int,
    ) -> None:
        super().__init__(dictionary)
        self.embed_tokens = embed_tokens
        self.gru = nn.GRU(
            embed_tokens.embedding_dim, hidden_dim, batch_first=True, bidirectional=True
        )
        init_recurrent(self.gru)
        self.dropout = dropout
        self.padding_idx: int = dictionary.pad()
        self.max_source_positions = max_source_positions

    def forward(
        self, src_tokens: Tensor, src_lengths: Tensor | None = None, **unused: Any
    ) -> Source:
        """
        Args:
            src_tokens: (B, M) token ids, padded on either side
            src_lengths: (B) unused, part of fairseq's interface

        Returns:
            annotations (B, M, 2d), one row a sentence
        """
        padding = src_tokens.eq(self.padding_idx)  # (B, M)
        if not bool(padding.any()):
            annotations, _ = self.gru(self._embed(src_tokens))
            return Source(features=[self._drop(annotations)], padding=None)
        aligned = left_align(src_tokens, self.padding_idx)
        packed = pack_padded_sequence(
            self._embed(aligned.tokens),
            (~padding).sum(dim=1).cpu(),
            batch_first=True,
            enforce_sorted=False,
        )
        annotations, _ = pad_packed_sequence(
            self.gru(packed)[0], batch_first=True, total_length=src_tokens.size(1)
        )
        return Source(features=[self._drop(aligned.restore(annotations))], padding=padding)

    def _embed(self, tokens: Tensor) -> Tensor:
        return self._drop(self.embed_tokens(tokens))

    def _drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, self.training)

    def reorder_encoder_out(self, encoder_out: Source, new_order: Tensor) -> Source:
        """See :meth:`Source.reorder`."""
        return encoder_out.reorder(new_order)

    def max_positions(self) -> int:
        return self.max_source_positions
