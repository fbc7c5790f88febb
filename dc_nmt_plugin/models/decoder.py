"""Base of all decoders: the edges that fairseq, the criterion and the beam search see."""

from __future__ import annotations

from typing import Any

from fairseq.data import Dictionary
from fairseq.models import FairseqIncrementalDecoder
from torch import Tensor, nn

from ..errors import ConfigError

DecoderOutput = tuple[Tensor, dict[str, Any]]


class Decoder(FairseqIncrementalDecoder):
    """Features of target prefixes, and the output layer above them.

    Subclasses define ``extract_features``, which returns features (R, T, C) and extra outputs, and
    set the output projection: optimizer states of checkpoints depend on the parameters' order.

    Attributes:
        output_projection: C → vocabulary, possibly tied to the embeddings
        need_attn: whether to return attention weights
        one_source_a_sentence: see :class:`~..modules.core.source.Source`; for the beam search
    """

    output_projection: nn.Linear
    need_attn = False
    one_source_a_sentence = True

    def __init__(self, dictionary: Dictionary, *, max_target_positions: int) -> None:
        super().__init__(dictionary)
        self.padding_idx: int = dictionary.pad()
        self.max_target_positions = max_target_positions

    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Any = None,
        incremental_state: Any = None,
        features_only: bool = False,
        **options: Any,
    ) -> DecoderOutput:
        """
        Args:
            prev_output_tokens: (R, T) target prefix, starting with the begin token
            encoder_out: what to attend to; None for a language model
            incremental_state: the decoding session: only the last position is computed
            features_only: leave the output projection out
            options: of ``extract_features``

        Returns:
            logits (R, T, V) or features (R, T, C), and the extra outputs. Beside features these
            have "output_projection", slices of its parameters: the criterion applies it
        """
        features, extra = self.extract_features(
            prev_output_tokens,
            encoder_out,
            incremental_state,
            features_only=features_only,
            **options,
        )
        if not features_only:
            return self.output_layer(features), extra
        # with find_unused_parameters, DistributedDataParallel takes parameters for unused that the
        # returned tensors do not depend on, and fails when the loss gives them a gradient
        in_graph = [parameter[:0] for parameter in self.output_projection.parameters()]
        return features, {**extra, "output_projection": in_graph}

    def output_layer(self, features: Tensor, **unused: Any) -> Tensor:
        """Projects (…, C) → logits (…, V)."""
        logits: Tensor = self.output_projection(features)
        return logits

    def max_positions(self) -> int:
        return self.max_target_positions

    def make_generation_fast_(
        self, need_attn: bool = False, retain_dropout: bool = False, **unused: Any
    ) -> None:
        """Prepares generation; fairseq passes `need_attn` with ``--print-alignment``.

        Raises:
            ConfigError: ``--retain-dropout``, which only fairseq's dropout modules support
        """
        if retain_dropout:
            raise ConfigError(
                "--retain-dropout: the models of this plugin have no dropout outside training; "
                "leave it and --retain-dropout-modules out."
            )
        self.need_attn = need_attn
