"""The decoder, incremental under fairseq's beam search; auxiliary decoders live inside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairseq.data import Dictionary
from torch import Tensor, nn

from ...errors import ConfigError
from ...modules.core.flow import Flow
from ...modules.core.masks import SequenceMask
from ...modules.core.recording import Recorded, recording
from ...modules.core.session import Session
from ...modules.core.source import Source
from ...speed.graphs import shapes_are_fixed
from ..decoder import Decoder, DecoderOutput
from .layers import LayerStack, TokenEmbedding

IGNORED = (
    "the criterion ignores the auxiliary decoders of --aux-layers, and would train the main "
    "decoder alone; use --criterion transformer_ms_aux or joint_label_smoothed_cross_entropy."
)


@dataclass(frozen=True)
class _Prefix:
    """Holds a batch of target prefixes, which all decoders read."""

    tokens: Tensor  # (R, T)
    mask: SequenceMask
    embedded: Tensor  # (R, T, C), or the last position (R, 1, C) when decoding
    session: Session | None  # when decoding


class TransformerDecoder(Decoder):
    """The main decoder and, for multi-level supervision (thesis ch. 4), auxiliary ones.

    All decoders share the embeddings and the output projection; their layers are their own. With
    fusion (AIF), the auxiliary decoders run first, on the same target prefix. Their final states
    are F^a = [f^1 … f^n], which every layer of the main decoder adds (eqs 4.2, 4.3).

    Args:
        stack: the main decoder's layers
        output_projection: C → vocabulary, possibly tied to the embeddings
        auxiliary: encoder layer (1-based) → layers of the auxiliary decoder attached to it

    Attributes:
        decode_with: None for the main decoder, or the encoder layer of the auxiliary decoder to
            decode with; set at decoding time
        fuse: whether the main decoder's layers read the auxiliary decoders' states (AIF); set to
            False, they act as if the fusion's weights were zero: the thesis's ind-decoder
    """

    def __init__(
        self,
        dictionary: Dictionary,
        embedding: TokenEmbedding,
        stack: LayerStack,
        output_projection: nn.Linear,
        *,
        max_target_positions: int,
        auxiliary: Mapping[int, LayerStack],
    ) -> None:
        super().__init__(dictionary, max_target_positions=max_target_positions)
        self.embedding = embedding
        self.stack = stack
        self.output_projection = output_projection
        self.auxiliary = nn.ModuleDict({str(layer): each for layer, each in auxiliary.items()})
        self.fuse = self.can_fuse
        self.decode_with: int | None = None

    @property
    def embed_tokens(self) -> nn.Embedding:
        return self.embedding.tokens

    @property
    def can_fuse(self) -> bool:
        """Returns whether the main decoder's layers can read the auxiliary decoders."""
        return any(layer.fusion is not None for layer in self.layers)

    @property
    def layers(self) -> nn.ModuleList:
        return self.stack.layers

    def extract_features(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Source,
        incremental_state: Session | None = None,
        features_only: bool = True,
        with_auxiliary: bool = False,
        need_attn: bool = False,
        alignment_layer: int | None = None,
        alignment_heads: int | None = None,
        **unused: Any,
    ) -> DecoderOutput:
        """Runs :meth:`forward` without the output projection.

        Args:
            prev_output_tokens, encoder_out, incremental_state, features_only: see there
            with_auxiliary: also run the auxiliary decoders, for the joint loss
            need_attn: return the weights of the attention to the source, as `alignment_layer` does
            alignment_layer: layer whose weights are returned, from 0 as in fairseq; None: the last
            alignment_heads: number of heads, from the first, whose mean is returned; None: all

        Returns:
            features, and of extra outputs "attn": [(R, T, M)], or [None] where nobody asks for it,
            "inner_states": outputs of all layers, "auxiliary_features": {layer: f^i (R, T, C)}

        Raises:
            ConfigError: a training step with a criterion that ignores auxiliary decoders
        """
        # only the joint loss requests features
        if self.auxiliary and self.training and not features_only:
            raise ConfigError(IGNORED)
        prefix = _Prefix(
            prev_output_tokens,
            self._mask(prev_output_tokens, incremental_state),
            self.embedding(prev_output_tokens, incremental_state=incremental_state),
            incremental_state,
        )
        stack, source = self._chosen_decoder(encoder_out, with_auxiliary)
        auxiliary_features = dict[int, Tensor]()
        if self.fuse and stack is self.stack:
            auxiliary_features = self._run_auxiliary(prefix, encoder_out)
        fused = list(auxiliary_features.values()) or None
        attn = None
        if self.need_attn or need_attn or alignment_layer is not None:
            layer = stack.layers[-1 if alignment_layer is None else alignment_layer]
            with recording(layer.encoder_attn) as records:
                states = self._run(stack, prefix, source, fused)
            attn = _alignment(records[""], alignment_heads)
        else:
            states = self._run(stack, prefix, source, fused)
        if with_auxiliary and not self.fuse:
            auxiliary_features = self._run_auxiliary(prefix, encoder_out)
        extra = {"attn": [attn], "inner_states": states, "auxiliary_features": auxiliary_features}
        return states[-1], extra

    def _chosen_decoder(self, encoder_out: Source, with_auxiliary: bool) -> tuple[Any, Source]:
        """Returns the decoder whose features are returned, and the source that it reads."""
        if self.decode_with is None or with_auxiliary:
            return self.stack, encoder_out
        auxiliary = self.auxiliary[str(self.decode_with)]
        return auxiliary, encoder_out.of_auxiliary(self.decode_with)

    def _run(
        self, stack: Any, prefix: _Prefix, source: Source, fused: list[Tensor] | None = None
    ) -> list[Tensor]:
        """Returns the outputs (R, T, C) of all layers of one decoder."""
        x = self.embedding.drop(prefix.embedded)  # each decoder drops for itself
        flow = Flow(
            prefix.mask,
            tokens=prefix.tokens,
            session=prefix.session,
            past=None if prefix.session is None else stack.slot(prefix.session),
            source=source,
            auxiliary_features=fused,
        )
        outputs: list[Tensor] = stack(prefix.mask.zero_padding(x), flow)
        return outputs

    def _run_auxiliary(self, prefix: _Prefix, source: Source) -> dict[int, Tensor]:
        """Returns the encoder layer of each auxiliary decoder → its final states (R, T, C)."""
        features = {}
        for key, stack in self.auxiliary.items():
            features[int(key)] = self._run(stack, prefix, source.of_auxiliary(int(key)))[-1]
        return features

    def _mask(self, tokens: Tensor, session: Session | None) -> SequenceMask:
        if session is not None or shapes_are_fixed():
            return SequenceMask.build(None, causal=True)
        is_padding = tokens.eq(self.padding_idx)
        # padding on the right is never seen by a real position: only padding on the left matters
        padding = is_padding if bool(is_padding[:, 0].any()) else None
        return SequenceMask.build(padding, causal=True)


def _alignment(recorded: Recorded, heads: int | None) -> Tensor:
    """Returns the mean weights (R, T, M) of the first `heads` heads, and of all source layers."""
    weights = recorded["weights"][..., :heads, :, :]  # (R, H, T, M) or (R, n, H, T, M)
    return weights.flatten(1, -3).mean(dim=1)
