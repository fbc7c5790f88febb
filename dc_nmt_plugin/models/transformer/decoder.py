"""The decoder, incremental under fairseq's beam search; auxiliary decoders live inside it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from fairseq.data import Dictionary
from torch import Tensor, nn

from ...errors import ConfigError
from ...modules.core.flow import Flow
from ...modules.core.masks import SequenceMask
from ...modules.core.recording import recording
from ...modules.core.session import Session
from ...modules.core.source import Source
from ...modules.fast.graphs import shapes_are_fixed
from ..decoder import Decoder, DecoderOutput
from .layers import LayerStack, TokenEmbedding

STOCK_LOSSES = {"cross_entropy", "label_smoothed_cross_entropy"}
IGNORED = (
    "the criterion ignores the auxiliary decoders of --aux-layers, and would train the main "
    "decoder alone; use --criterion transformer_ms_aux or joint_label_smoothed_cross_entropy."
)


class TransformerDecoder(Decoder):
    """The main decoder and, for multi-level supervision (thesis ch. 4), auxiliary ones.

    All decoders share the embeddings and the output projection; their layers are their own. With
    fusion (AIF), the auxiliary decoders run first, on the same target prefix. Their final states
    are F^a = [f^1 … f^n], which every layer of the main decoder adds (eqs 4.2, 4.3).

    Args:
        dictionary: of the target language
        embedding: tokens to vectors
        stack: the main decoder's layers
        output_projection: C → vocabulary, possibly tied to the embeddings
        max_target_positions: longest target, in tokens
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
        mask = self._mask(prev_output_tokens, incremental_state)
        embedded = self.embedding(prev_output_tokens, incremental_state=incremental_state)

        def run(stack: Any, source: Source, fused: list[Tensor] | None = None) -> list[Tensor]:
            """Returns the outputs (R, T, C) of all layers of one decoder."""
            x = self.embedding.drop(embedded)
            flow = Flow(
                mask,
                tokens=prev_output_tokens,
                session=incremental_state,
                past=None if incremental_state is None else stack.slot(incremental_state),
                source=source,
                auxiliary_features=fused,
            )
            return stack(mask.zero_padding(x), flow)

        def run_auxiliary() -> dict[int, Tensor]:
            features = {}
            for key, stack in self.auxiliary.items():
                features[int(key)] = run(stack, encoder_out.of_auxiliary(int(key)))[-1]
            return features

        stack: Any = self.stack
        source, auxiliary_features = encoder_out, dict[int, Tensor]()
        if self.decode_with is not None and not with_auxiliary:
            stack = self.auxiliary[str(self.decode_with)]
            source = encoder_out.of_auxiliary(self.decode_with)
        elif self.fuse:
            auxiliary_features = run_auxiliary()
        fused = list(auxiliary_features.values()) or None
        returns_attn = self.need_attn or need_attn or alignment_layer is not None
        attention = stack.layers[-1 if alignment_layer is None else alignment_layer].encoder_attn
        with recording(attention) if returns_attn else nullcontext() as records:
            states = run(stack, source, fused)
        if with_auxiliary and not self.fuse:
            auxiliary_features = run_auxiliary()
        attn = None
        if records is not None:  # (R, …, T, M): the mean over heads, and over source layers
            weights = records[""]["weights"][..., :alignment_heads, :, :]
            attn = weights.flatten(1, -3).mean(dim=1)
        extra = {"attn": [attn], "inner_states": states, "auxiliary_features": auxiliary_features}
        return states[-1], extra

    def _mask(self, tokens: Tensor, session: Session | None) -> SequenceMask:
        if session is not None or shapes_are_fixed():
            return SequenceMask.build(None, causal=True)
        is_padding = tokens.eq(self.padding_idx)
        # padding on the right is never seen by a real position: only padding on the left matters
        padding = is_padding if bool(is_padding[:, 0].any()) else None
        return SequenceMask.build(padding, causal=True)
