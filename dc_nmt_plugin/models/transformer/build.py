"""Builds encoder and decoder from the configuration. Only here do modules meet settings.

The initial weights for a seed depend on the order in which modules are built.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

from fairseq import utils
from fairseq.data import Dictionary
from fairseq.modules import LayerNorm, PositionalEmbedding
from torch import nn

from ...modules.auxiliary_fusion import AuxiliaryFusion
from ...modules.context_aware import ContextAwareSelfAttention
from ...modules.core.attention import SourceAttention
from ...modules.core.initial_weights import scale_with_depth
from ...modules.core.positions import Positions, RelativePositions, RotaryPositions
from ...modules.core.recording import give_places
from ...modules.core.self_attention import MultiHeadSelfAttention, SelfAttention
from ...modules.cross_aggregation import CrossAggregationSelfAttention
from ...modules.dual_context import DualContextAttention
from ...modules.fast.graphs import MULTIPLE
from ...modules.layer_aggregation import IterativeAggregation, LinearAggregation
from ...modules.multi_layer_attention import MultiLayerAttention
from .axes import AGGREGATIONS, MULTI_LAYER
from .config import TransformerConfig
from .decoder import TransformerDecoder
from .encoder import TransformerEncoder
from .layers import DecoderLayer, EncoderLayer, LayerSettings, LayerStack, TokenEmbedding
from .specification import SelfAttentionSpec

# axis A: a kind of self-attention → its class
SELF_ATTENTIONS: dict[str, Any] = {
    "standard": SelfAttention,
    "dual_context": DualContextAttention,
    "context_aware": ContextAwareSelfAttention,
    "cross_aggregation": CrossAggregationSelfAttention,
}


def build_encoder(
    cfg: TransformerConfig, dictionary: Dictionary, matrix: nn.Embedding
) -> TransformerEncoder:
    """Builds the encoder around its (possibly shared) embedding matrix."""
    settings = layer_settings(cfg, "encoder")
    layers: list[nn.Module] = []
    for number, spec in enumerate(cfg.self_attentions("encoder"), start=1):
        layers.append(EncoderLayer(self_attention(cfg, "encoder", number, spec), settings))
    give_places(layers, "encoder")
    return TransformerEncoder(
        dictionary,
        token_embedding(cfg, "encoder", matrix),
        layer_stack(cfg, "encoder", layers),
        max_source_positions=cfg.max_source_positions,
        read_layers=cfg.read_layers,
        aggregation=aggregation(cfg),
        auxiliary_layers=cfg.auxiliary_layers,
        tap_norms=tap_norms(cfg),
    )


def build_decoder(
    cfg: TransformerConfig, dictionary: Dictionary, matrix: nn.Embedding
) -> TransformerDecoder:
    """Builds the main decoder and the auxiliary ones, which share its embeddings."""
    auxiliary = {layer: decoder_stack(cfg, f"aux{layer}") for layer in cfg.auxiliary_layers}
    freeze_untrained(cfg, auxiliary.values())
    return TransformerDecoder(
        dictionary,
        token_embedding(cfg, "decoder", matrix),
        decoder_stack(cfg, "decoder"),
        output_projection(cfg, matrix),
        max_target_positions=cfg.max_target_positions,
        auxiliary=auxiliary,
    )


def decoder_stack(cfg: TransformerConfig, name: str) -> LayerStack:
    """Builds the layers of the main decoder (``decoder``) or an auxiliary one (``aux1`` …).

    Auxiliary decoders attend to one encoder layer, and only the main one fuses others' states.
    """
    main = name == "decoder"
    settings = layer_settings(cfg, "decoder")
    layers: list[nn.Module] = []
    for number, spec in enumerate(cfg.self_attentions("decoder"), start=1):
        self_attn = self_attention(cfg, "decoder", number, spec)
        encoder_attn = source_attention(cfg, single=not main)
        fusion = None
        if main and cfg.aux_fusion:
            fusion = AuxiliaryFusion(
                embed_dim=cfg.decoder_embed_dim, num_auxiliary=len(cfg.auxiliary_layers)
            )
        layers.append(DecoderLayer(self_attn, encoder_attn, settings, fusion))
    give_places(layers, name)
    return layer_stack(cfg, "decoder", layers)


# -- axis A ----------------------------------------------------------------------------------------


def self_attention(
    cfg: TransformerConfig, side: str, number: int, spec: SelfAttentionSpec
) -> MultiHeadSelfAttention:
    """Builds the self-attention of one layer, number 1 for the lowest."""
    width, heads = cfg.of_side(side, "embed_dim"), cfg.of_side(side, "attention_heads")
    options = dict(spec.options)
    if spec.kind == "dual_context":
        options["residual_dropout"] = cfg.dropout
    if spec.kind == "context_aware":
        options["layer"] = number
    attention: MultiHeadSelfAttention = SELF_ATTENTIONS[spec.kind](
        embed_dim=width,
        num_heads=heads,
        dropout=cfg.attention_dropout,
        bias=not cfg.no_attention_bias,
        **options,
    )
    attention.positions = positions(cfg, head_dim=width // heads)
    return attention


# -- axis B ----------------------------------------------------------------------------------------


def source_attention(cfg: TransformerConfig, *, single: bool) -> nn.Module:
    """Builds the attention of one decoder layer to the source, or to a `single` layer of it."""
    options: dict[str, Any] = {
        "embed_dim": cfg.decoder_embed_dim,
        "source_dim": cfg.encoder_embed_dim,
        "num_heads": cfg.decoder_attention_heads,
        "dropout": cfg.attention_dropout,
        "bias": not cfg.no_attention_bias,
    }
    if single or cfg.source_features not in MULTI_LAYER:
        return SourceAttention(**options)
    return MultiLayerAttention(
        **options,
        num_layers=len(cfg.read_layers),
        joint_weights=cfg.source_features in ("m-00", "m-01"),
        sum_contexts=cfg.source_features in ("m-01", "m-11"),
    )


def aggregation(cfg: TransformerConfig) -> nn.Module | None:
    """Builds the aggregation of encoder layers; None if --source-features has none."""
    if cfg.source_features not in AGGREGATIONS:
        return None
    iterative = cfg.source_features in ("iter-s-agg", "iter-c-agg")
    with_ffn = cfg.source_features in ("c-agg", "iter-c-agg")
    return (IterativeAggregation if iterative else LinearAggregation)(
        embed_dim=cfg.encoder_embed_dim,
        num_layers=len(cfg.read_layers),
        ffn_dim=cfg.encoder_ffn_embed_dim if with_ffn else None,
        dropout=cfg.dropout,
    )


def tap_norms(cfg: TransformerConfig) -> nn.ModuleDict | None:
    """Builds a norm for each lower encoder layer whose output a decoder reads, in pre-norm.

    Pre-norm leaves the layers' outputs unnormalised, and only the top has the final norm.
    """
    lower = sorted({*cfg.read_layers, *cfg.auxiliary_layers} - {cfg.encoder_layers})
    if not cfg.pre_norm("encoder") or not lower:
        return None
    norms = {layer: build_norm(cfg, cfg.encoder_embed_dim) for layer in lower}
    freeze_untrained(cfg, [norm for layer, norm in norms.items() if layer not in cfg.read_layers])
    return nn.ModuleDict({str(layer): norm for layer, norm in norms.items()})


# -- axis C ----------------------------------------------------------------------------------------


def freeze_untrained(cfg: TransformerConfig, modules: Iterable[nn.Module]) -> None:
    """Freezes modules that only auxiliary decoders use, if nothing trains them."""
    if cfg.aux_weight == 0 and not cfg.aux_fusion:
        # distributed training would wait for their gradients
        for module in modules:
            module.requires_grad_(False)


# -- axis D ----------------------------------------------------------------------------------------


def layer_settings(cfg: TransformerConfig, side: str) -> LayerSettings:
    """Returns what the layers of a side have beside their attentions."""
    return LayerSettings(
        embed_dim=cfg.of_side(side, "embed_dim"),
        ffn_dim=cfg.of_side(side, "ffn_embed_dim"),
        dropout=cfg.dropout,
        activation_dropout=cfg.activation_dropout,
        activation_fn=cfg.base_block.activation_fn,
        pre_norm=cfg.pre_norm(side),
        norm=partial(build_norm, cfg),
    )


def build_norm(cfg: TransformerConfig, width: int) -> nn.Module:
    """Builds a norm of the sublayers, of the stacks or of the embeddings.

    Norms inside a mechanism are those of its paper's equations, on every base.
    """
    if cfg.base_block.norm == "rms_norm":
        return nn.RMSNorm(width, eps=1e-6)  # the paper has no ε, but a vector of zeros needs one
    norm: nn.Module = LayerNorm(width)
    return norm


def positions(cfg: TransformerConfig, *, head_dim: int) -> Positions | None:
    """Builds the positions that self-attention sees; None if they are in the embeddings."""
    if cfg.base_block.positions == "rotary":
        return RotaryPositions(head_dim=head_dim)
    if cfg.base_block.positions == "relative":
        return RelativePositions(head_dim=head_dim, clip=cfg.max_relative_position)
    return None


def layer_stack(cfg: TransformerConfig, side: str, layers: list[nn.Module]) -> LayerStack:
    """Joins the layers of a side, and scales their initial weights with depth if flags say so."""
    width = cfg.of_side(side, "embed_dim")
    if cfg.depth_scaled_init:
        for depth, layer in enumerate(layers, start=1):
            scale_with_depth(layer, depth, cfg.depth_scaled_init)
    return LayerStack(
        layers,
        layer_norm=build_norm(cfg, width) if cfg.pre_norm(side) else None,
        layerdrop=cfg.of_side(side, "layerdrop"),
        checkpoint_activations=cfg.checkpoint_activations,
    )


# -- embeddings ------------------------------------------------------------------------------------


def token_matrix(dictionary: Dictionary, width: int, path: str | None) -> nn.Embedding:
    """Builds an embedding matrix from N(0, 1/width), or from pretrained vectors."""
    matrix = nn.Embedding(len(dictionary), width, padding_idx=dictionary.pad())
    nn.init.normal_(matrix.weight, mean=0, std=width**-0.5)
    nn.init.zeros_(matrix.weight[dictionary.pad()])
    if path:
        utils.load_embedding(utils.parse_embedding(path), dictionary, matrix)
    return matrix


def token_embedding(cfg: TransformerConfig, side: str, matrix: nn.Embedding) -> TokenEmbedding:
    """Builds the embedding of one side around its (possibly shared) matrix."""
    width = matrix.embedding_dim
    added = None
    layer_norm = build_norm(cfg, width) if cfg.layernorm_embedding else None
    if cfg.base_block.positions == "absolute" and not cfg.no_token_positional_embeddings:
        most = cfg.max_source_positions if side == "encoder" else cfg.max_target_positions
        learned = cfg.of_side(side, "learned_pos")
        if not learned:  # room for padding: a table that grows leaves CUDA graphs with the old one
            most += -most % MULTIPLE
        added = PositionalEmbedding(most, width, matrix.padding_idx, learned=learned)
    return TokenEmbedding(
        tokens=matrix,
        positions=added,
        scale=1.0 if cfg.no_scale_embedding else math.sqrt(width),
        layer_norm=layer_norm,
        dropout=cfg.dropout,
    )


def output_projection(cfg: TransformerConfig, matrix: nn.Embedding) -> nn.Linear:
    """Builds the projection to the vocabulary, possibly tied to the embedding matrix."""
    vocabulary, width = matrix.weight.shape
    projection = nn.Linear(width, vocabulary, bias=False)
    if cfg.share_decoder_input_output_embed or cfg.share_all_embeddings:
        projection.weight = matrix.weight
    else:
        nn.init.normal_(projection.weight, mean=0, std=width**-0.5)
    return projection
