"""Flags of all Transformer variants, and their contradictions."""

import math
from dataclasses import dataclass

from ...errors import ConfigError
from ...modules.choices import (
    CONTEXTS,
    DIRECTIONS,
    GATES,
    HEAD_WEIGHTS,
    INITS,
    MIXED,
    context_levels,
)
from ..constraints import CheckedConfig, flag, rate, size
from .axes import DECODER_KINDS, ENCODER_ONLY_KINDS, SELF_ATTENTION_KINDS, SOURCE_FEATURES

MODEL_NAME = "dc_nmt_transformer"  # in fairseq's registry
SIDES = ("encoder", "decoder")
# those of fairseq, in its order
ACTIVATIONS = ("relu", "gelu", "gelu_fast", "gelu_accurate", "tanh", "linear")


@dataclass
class TransformerConfig(CheckedConfig):
    """Settings of a Transformer on its three axes; every field is a flag (``--encoder-layers`` …).

    Names follow fairseq's ``transformer``. Layers are counted from 1, as in the papers.
    """

    encoder_embed_dim: int = size(512, "width of the encoder")
    encoder_ffn_embed_dim: int = size(2048, "inner width of the encoder's feed-forward networks")
    encoder_layers: int = size(6, "number of encoder layers")
    encoder_attention_heads: int = size(8, "attention heads of the encoder")
    encoder_normalize_before: bool = flag(False, "layer norm before each encoder sublayer")
    encoder_learned_pos: bool = flag(False, "learned positional embeddings in the encoder")
    encoder_layerdrop: float = rate(0.0, "probability of skipping an encoder layer in training")
    encoder_embed_path: str | None = flag(None, "file of pretrained encoder embeddings")
    decoder_embed_dim: int = size(512, "width of the decoder")
    decoder_ffn_embed_dim: int = size(2048, "inner width of the decoder's feed-forward networks")
    decoder_layers: int = size(6, "number of decoder layers")
    decoder_attention_heads: int = size(8, "attention heads of the decoder")
    decoder_normalize_before: bool = flag(False, "layer norm before each decoder sublayer")
    decoder_learned_pos: bool = flag(False, "learned positional embeddings in the decoder")
    decoder_layerdrop: float = rate(0.0, "probability of skipping a decoder layer in training")
    decoder_embed_path: str | None = flag(None, "file of pretrained decoder embeddings")
    dropout: float = rate(0.1, "dropout of embeddings and sublayer outputs")
    attention_dropout: float = rate(0.0, "dropout of attention weights")
    activation_dropout: float = rate(0.0, "dropout after the feed-forward activation")
    activation_fn: str = flag(
        "relu",
        "activation of the feed-forward networks",
        one_of=ACTIVATIONS,
    )
    share_decoder_input_output_embed: bool = flag(
        False, "share the decoder's input and output embeddings"
    )
    share_all_embeddings: bool = flag(
        False,
        "share encoder, decoder and output embeddings (needs a joint dictionary; "
        "--no-share-all-embeddings where an architecture sets it)",
        negatable=True,
    )
    no_token_positional_embeddings: bool = flag(False, "no positional embeddings")
    layernorm_embedding: bool = flag(False, "layer norm on the embeddings")
    no_scale_embedding: bool = flag(False, "do not scale embeddings by sqrt(width)")
    checkpoint_activations: bool = flag(
        False, "recompute each layer's activations in the backward pass to save memory"
    )
    depth_scaled_init: float = flag(
        0.0,
        (
            "alpha of depth-scaled initial weights (1 in Zhang et al. 2019): the matrices "
            "of layer l start at alpha / sqrt(l) of their size; 0: fairseq's initial "
            "weights"
        ),
        at_least=0,
    )
    max_source_positions: int = size(1024, "longest source, in tokens")
    max_target_positions: int = size(1024, "longest target, in tokens")

    encoder_self_attention: str = flag(
        "standard", "self-attention of the encoder", one_of=tuple(SELF_ATTENTION_KINDS)
    )
    decoder_self_attention: str = flag(
        "standard",
        "self-attention of the decoder",
        one_of=DECODER_KINDS,
        refused={name: SELF_ATTENTION_KINDS[name].not_in_decoders for name in ENCODER_ONLY_KINDS},
    )
    encoder_self_attention_layers: str | None = flag(
        None,
        (
            "encoder layers i-j with --encoder-self-attention; the others are standard "
            "(default: all)"
        ),
    )
    decoder_self_attention_layers: str | None = flag(
        None,
        (
            "decoder layers i-j with --decoder-self-attention; the others are standard "
            "(default: all)"
        ),
    )
    dc_kernel_size: int = size(2, "dual context: width f of the local context's convolution")

    ctx_context: str = flag("deep-global+deep", "context-aware: context", one_of=CONTEXTS)
    ctx_on: str = flag(
        "both",
        "context-aware: queries, keys or both are mixed with the context",
        one_of=tuple(MIXED),
    )
    ctx_gate: str = flag("learnt", "context-aware: gates λ of the context", one_of=GATES)
    xagg_routing: str = flag("both", "cross aggregation: routing", one_of=DIRECTIONS)
    xagg_init: str = flag("zero", "cross aggregation: start of horizontal routing", one_of=INITS)
    xagg_iterations: int = flag(
        3, "cross aggregation: routing iterations; 0 is plain attention", at_least=0
    )
    xagg_head_weights: str = flag(
        "mean",
        "cross aggregation: mean or sum over positions in the head weights",
        one_of=HEAD_WEIGHTS,
    )
    xagg_checkpoint: bool = flag(
        False, "cross aggregation: recompute the routing in the backward pass to save memory"
    )

    source_features: str = flag(
        "top", "encoder features that the decoder attends to", one_of=tuple(SOURCE_FEATURES)
    )
    source_layers: int | None = flag(
        None, "number n of top encoder layers in --source-features (default: all; top: 1)"
    )

    aux_layers: str | None = flag(
        None, "encoder layers with an auxiliary decoder, such as 1,3 (default: none)"
    )
    aux_weight: float = flag(
        1.0, "weight of the loss of every auxiliary decoder", at_least=0, below=math.inf
    )
    aux_fusion: bool = flag(
        False, "auxiliary information fusion: the main decoder reads the auxiliary decoders"
    )

    @property
    def num_source_layers(self) -> int:
        """Returns n, the number of encoder layers that the main decoder reads."""
        if self.source_features == "top":
            return 1
        return self.encoder_layers if self.source_layers is None else self.source_layers

    @property
    def auxiliary_layers(self) -> list[int]:
        """Returns the encoder layers with an auxiliary decoder, ascending; :meth:`check` first."""
        return sorted(map(int, self._auxiliary()))

    def kind_of(self, side: str, layer: int) -> str:
        """Returns the self-attention kind of a layer (1-based) on `side`; :meth:`check` first."""
        kind: str = getattr(self, f"{side}_self_attention")
        first, last = self.layer_range(side)
        return kind if first <= layer <= last else "standard"

    def layer_range(self, side: str) -> tuple[int, int]:
        """Returns the first and last layer (1-based) with the side's self-attention kind.

        Raises:
            ConfigError: not ``i-j`` or ``i`` with 1 ≤ i ≤ j ≤ number of layers
        """
        text: str | None = getattr(self, f"{side}_self_attention_layers")
        layers: int = getattr(self, f"{side}_layers")
        if text is None:
            return 1, layers
        first, dash, last = str(text).partition("-")
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last) <= layers):
            raise ConfigError(
                [
                    f"--{side}-self-attention-layers: {text!r} is not a layer or a range i-j "
                    f"within 1-{layers} (--{side}-layers {layers})."
                ]
            )
        return int(first), int(last)

    def contradictions(self) -> list[str]:
        """See :class:`CheckedConfig`."""
        return [
            *(problem for side in SIDES for problem in self._of_side(side)),
            *self._of_sharing(),
            *self._of_routing(),
            *self._of_source_features(),
            *self._of_auxiliary(),
        ]

    def _of_side(self, side: str) -> list[str]:
        problems = []
        width, heads = getattr(self, f"{side}_embed_dim"), getattr(self, f"{side}_attention_heads")
        if width >= 1 and heads >= 1 and width % heads:
            problems.append(
                f"--{side}-attention-heads: {heads} heads do not divide --{side}-embed-dim {width}."
            )
        try:
            self.layer_range(side)
        except ConfigError as error:
            return problems + error.problems
        return problems + self._of_context(side)

    def _of_context(self, side: str) -> list[str]:
        layers, (_, last) = getattr(self, f"{side}_self_attention_layers"), self.layer_range(side)
        if getattr(self, f"{side}_self_attention") != "context_aware" or last < 1:
            return []
        if self.ctx_context not in CONTEXTS or any(context_levels(self.ctx_context, last)):
            return []
        return [
            f"--ctx-context: {self.ctx_context!r} is made of the inputs of lower layers, and "
            f"--{side}-self-attention-layers {layers or last} has none below it; include a higher "
            "layer, or choose another context."
        ]

    def _of_sharing(self) -> list[str]:
        if not self.share_all_embeddings or self.encoder_embed_dim == self.decoder_embed_dim:
            return []
        return [
            f"--share-all-embeddings: --encoder-embed-dim {self.encoder_embed_dim} and "
            f"--decoder-embed-dim {self.decoder_embed_dim} must be equal."
        ]

    def _of_routing(self) -> list[str]:
        if self.xagg_init != "self" or self.xagg_routing != "vertical":
            return []
        return [
            "--xagg-init: 'self' starts the horizontal routing at the logits, and "
            "--xagg-routing vertical has none; choose zero, or --xagg-routing horizontal or both."
        ]

    def _of_source_features(self) -> list[str]:
        features, number = SOURCE_FEATURES.get(self.source_features), self.source_layers
        if features is None or number is None:
            return []
        if not features.several and number != 1:
            others = ", ".join(name for name, other in SOURCE_FEATURES.items() if other.several)
            return [
                f"--source-layers: {number} layers need --source-features {others}; "
                f"{self.source_features!r} is one layer."
            ]
        if features.aggregation is not None and number == 1:
            return [
                f"--source-layers: {self.source_features} of 1 layer aggregates nothing; choose "
                f"2-{self.encoder_layers}, or --source-features top."
            ]
        if not 1 <= number <= self.encoder_layers:
            return [
                f"--source-layers: {number} is not within 1-{self.encoder_layers} "
                f"(--encoder-layers {self.encoder_layers})."
            ]
        return []

    def _auxiliary(self) -> list[str]:
        """Splits a list; Hydra turns a list of one number into a number."""
        text = "" if self.aux_layers is None else str(self.aux_layers).strip()
        return [part.strip() for part in text.split(",")] if text else []

    def _of_auxiliary(self) -> list[str]:
        parts = self._auxiliary()
        highest = self.encoder_layers - 1
        problems = []
        if any(not (part.isdecimal() and 1 <= int(part) <= highest) for part in parts):
            valid = f"1-{highest}" if highest else "none: --encoder-layers is 1"
            problems.append(
                f"--aux-layers: {self.aux_layers!r} is not a list of encoder layers below the top "
                f"one, such as 1,3 (valid: {valid})."
            )
        elif len(set(map(int, parts))) < len(parts):
            problems.append(f"--aux-layers: {self.aux_layers!r} names a layer twice.")
        if self.aux_fusion and not parts:
            problems.append("--aux-fusion: there is nothing to fuse without --aux-layers.")
        return problems
