"""Recurrent decoders: recurrence, summary of the words so far, readout and output layer."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from fairseq.data import Dictionary
from torch import Tensor, nn

from ...modules.conditional_gru import ConditionalGRU
from ...modules.core.session import Session
from ...modules.core.source import Source
from ...modules.lstm import LanguageLSTM
from ...modules.readout import Readout
from ...modules.residual_context import ResidualContext
from ...modules.state_attention import StateSummary
from ..decoder import Decoder, DecoderOutput
from .encoder import LeftAligned, left_align


class RecurrentDecoder(Decoder):
    """Base of both decoders; subclasses turn words into features.

    Args:
        embed_tokens: (V, e)
        output_projection: features → vocabulary, possibly tied to the embeddings
        dropout: of the embeddings and the recurrent states
        readout_dropout: of the features
    """

    def __init__(
        self,
        dictionary: Dictionary,
        embed_tokens: nn.Embedding,
        output_projection: nn.Linear,
        *,
        dropout: float,
        readout_dropout: float,
        max_target_positions: int,
    ) -> None:
        super().__init__(dictionary, max_target_positions=max_target_positions)
        self.embed_tokens = embed_tokens
        self.output_projection = output_projection
        self.dropout = dropout
        self.readout_dropout = readout_dropout

    def extract_features(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Source | None = None,
        incremental_state: Session | None = None,
        need_attn: bool = False,
        alignment_layer: int | None = None,
        **unused: Any,
    ) -> DecoderOutput:
        """Computes :meth:`forward` without the output projection.

        `need_attn`, or an `alignment_layer` as in fairseq, ask for the one attention's weights.
        """
        if incremental_state is None:
            aligned = left_align(prev_output_tokens, self.padding_idx)
        else:
            aligned = LeftAligned(prev_output_tokens[:, -1:], None)
        words = F.dropout(self.embed_tokens(aligned.tokens), self.dropout, self.training)
        features, attention = self.features(words, encoder_out, incremental_state)
        features = F.dropout(features, self.readout_dropout, self.training)
        returns_attn = self.need_attn or need_attn or alignment_layer is not None
        attn = aligned.restore(attention) if returns_attn and attention is not None else None
        return aligned.restore(features), {"attn": [attn], "inner_states": None}

    def features(
        self, words: Tensor, source: Source | None, session: Session | None
    ) -> tuple[Tensor, Tensor | None]:
        """
        Args:
            words: (R, T, e) embedded inputs; T = 1 when decoding
            source: what to attend to, if anything
            session: the decoding session, or None

        Returns:
            what the output layer gets (R, T, C), and the attention weights (R, T, M) or None
        """
        raise NotImplementedError


class GRUDecoder(RecurrentDecoder):
    """Conditional GRU with a readout of any kind.

    Args:
        cell: the recurrence, with its attention to the source
        residual: what the readout sees of the words so far
        summary: attention over earlier states (self-attentive RNN), or None
        readout: combines them
        base, options: see :class:`RecurrentDecoder`
    """

    def __init__(
        self,
        *base: Any,
        cell: ConditionalGRU,
        residual: ResidualContext,
        summary: StateSummary | None,
        readout: Readout,
        **options: Any,
    ) -> None:
        super().__init__(*base, **options)
        self.cell = cell
        self.residual = residual
        self.summary = summary
        self.readout = readout

    def features(
        self, words: Tensor, source: Source | None, session: Session | None
    ) -> tuple[Tensor, Tensor | None]:
        assert source is not None
        states, context, attention = self.cell(words, source, session=session)
        states = F.dropout(states, self.dropout, self.training)
        d_t = self.residual(words, states, session=session)
        summary = None if self.summary is None else self.summary(states, session=session)  # s̃_t
        return self.readout(states, d_t, context=context, summary=summary), attention


class LSTMDecoder(RecurrentDecoder):
    """A language model: an LSTM with the same readouts.

    Args:
        lstm: the recurrence
        residual: what the readout sees of the words so far
        readout: combines it with the state; None to give the state itself to the output layer
        base, options: see :class:`RecurrentDecoder`
    """

    def __init__(
        self,
        *base: Any,
        lstm: LanguageLSTM,
        residual: ResidualContext,
        readout: Readout | None,
        **options: Any,
    ) -> None:
        super().__init__(*base, **options)
        self.lstm = lstm
        self.residual = residual
        self.readout = readout

    def features(
        self, words: Tensor, source: Source | None, session: Session | None
    ) -> tuple[Tensor, Tensor | None]:
        states = self.lstm(words, session=session)
        if self.readout is None:
            return states, None
        states = F.dropout(states, self.dropout, self.training)
        return self.readout(states, self.residual(words, states, session=session)), None
