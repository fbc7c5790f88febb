"""Builds encoder and decoder from the configuration. Only here do modules meet settings.

The initial weights for a seed depend on the order in which modules are built.
"""

from __future__ import annotations

import math
from functools import partial

from fairseq import utils
from fairseq.data import Dictionary
from fairseq.modules import LayerNorm, PositionalEmbedding
from torch import nn

from ...modules.auxiliary_fusion import AuxiliaryFusion
from ...modules.core.initial_weights import scale_with_depth
from ...modules.core.positions import Positions, RelativePositions, RotaryPositions
from ...modules.core.self_attention import MultiHeadSelfAttention
from ...modules.mechanisms import SOURCE_FEATURES, TOP
from ...speed.graphs import MULTIPLE
from .config import TransformerConfig
from .decoder import TransformerDecoder
from .encoder import TransformerEncoder
from .layers import DecoderLayer, EncoderLayer, LayerSettings, LayerStack, TokenEmbedding
from .specification import SelfAttentionSpec


def build_encoder(
    cfg: TransformerConfig, dictionary: Dictionary, matrix: nn.Embedding
) -> TransformerEncoder:
    """Builds the encoder around its (possibly shared) embedding matrix."""
    stack = build_stack(cfg, "encoder")
    return TransformerEncoder(
        dictionary,
        token_embedding(cfg, "encoder", matrix),
        stack,
        max_source_positions=cfg.max_source_positions,
        read_layers=cfg.read_layers,
        aggregation=aggregation(cfg),
        auxiliary_layers=cfg.auxiliary_layers,
        tap_norms=tap_norms(cfg),
    )


def build_decoder(
    cfg: TransformerConfig, dictionary: Dictionary, matrix: nn.Embedding
) -> TransformerDecoder:
    """Builds the main decoder and the auxiliary ones, which share its embeddings (axis C)."""
    auxiliary = {layer: build_stack(cfg, f"aux{layer}") for layer in cfg.auxiliary_layers}
    if cfg.auxiliary_is_idle:
        for stack in auxiliary.values():
            stack.requires_grad_(False)  # distributed training would wait for gradients
    return TransformerDecoder(
        dictionary,
        token_embedding(cfg, "decoder", matrix),
        build_stack(cfg, "decoder"),
        vocabulary_projection(cfg, matrix),
        max_target_positions=cfg.max_target_positions,
        auxiliary=auxiliary,
    )


def build_stack(cfg: TransformerConfig, name: str) -> LayerStack:
    """Builds the layers of the ``encoder``, the ``decoder`` or an auxiliary decoder (``aux1`` …).

    Auxiliary decoders attend to one encoder layer, and only the main one fuses others' states.
    """
    side = "encoder" if name == "encoder" else "decoder"
    settings = LayerSettings(
        embed_dim=cfg.of_side(side, "embed_dim"),
        ffn_dim=cfg.of_side(side, "ffn_embed_dim"),
        dropout=cfg.dropout,
        activation_dropout=cfg.activation_dropout,
        activation_fn=cfg.base_block.activation_fn,
        pre_norm=cfg.pre_norm(side),
        norm=partial(build_norm, cfg),
    )
    layers: list[nn.Module] = []
    for number, spec in enumerate(cfg.self_attentions(side), start=1):
        self_attn = self_attention(cfg, side, number, spec)
        if side == "encoder":
            layer: nn.Module = EncoderLayer(self_attn, settings)
        else:
            main = name == "decoder"
            encoder_attn = source_attention(cfg, single=not main)
            layer = DecoderLayer(self_attn, encoder_attn, settings, fusion(cfg) if main else None)
        if cfg.depth_scaled_init:
            scale_with_depth(layer, number, cfg.depth_scaled_init)
        layers.append(layer)
    return LayerStack(
        layers,
        name=name,
        layer_norm=build_norm(cfg, settings.embed_dim) if settings.pre_norm else None,
        layerdrop=cfg.of_side(side, "layerdrop"),
        checkpoint_activations=cfg.checkpoint_activations,
    )


# -- axis A ----------------------------------------------------------------------------------------


def self_attention(
    cfg: TransformerConfig, side: str, number: int, spec: SelfAttentionSpec
) -> MultiHeadSelfAttention:
    """Builds the self-attention of one layer, number 1 for the lowest."""
    width, heads = cfg.of_side(side, "embed_dim"), cfg.of_side(side, "attention_heads")
    attention: MultiHeadSelfAttention = spec.mechanism.build(
        spec.options,
        embed_dim=width,
        num_heads=heads,
        dropout=cfg.attention_dropout,
        bias=not cfg.no_attention_bias,
        residual_dropout=cfg.dropout,
        layer=number,
    )
    attention.positions = positions(cfg, head_dim=width // heads)
    return attention


# -- axis B ----------------------------------------------------------------------------------------


def source_attention(cfg: TransformerConfig, *, single: bool) -> nn.Module:
    """Builds the attention of one decoder layer to the source, or to a `single` layer of it."""
    feature = SOURCE_FEATURES[cfg.source_features]
    if single or feature.aggregates:
        feature = TOP
    attention: nn.Module = feature.build(
        cfg.options_of(feature),
        embed_dim=cfg.decoder_embed_dim,
        source_dim=cfg.encoder_embed_dim,
        num_heads=cfg.decoder_attention_heads,
        num_layers=len(cfg.read_layers),
        dropout=cfg.attention_dropout,
        bias=not cfg.no_attention_bias,
    )
    return attention


def aggregation(cfg: TransformerConfig) -> nn.Module | None:
    """Builds the aggregation of encoder layers; None if --source-features has none."""
    feature = SOURCE_FEATURES[cfg.source_features]
    if not feature.aggregates:
        return None
    module: nn.Module = feature.build(
        cfg.options_of(feature),
        embed_dim=cfg.encoder_embed_dim,
        num_layers=len(cfg.read_layers),
        ffn_dim=cfg.encoder_ffn_embed_dim,
        dropout=cfg.dropout,
    )
    return module


def tap_norms(cfg: TransformerConfig) -> nn.ModuleDict | None:
    """Builds a norm for each lower encoder layer whose output a decoder reads, in pre-norm.

    Pre-norm leaves the layers' outputs unnormalised, and only the top has the final norm.
    """
    lower = sorted({*cfg.read_layers, *cfg.auxiliary_layers} - {cfg.encoder_layers})
    if not cfg.pre_norm("encoder") or not lower:
        return None
    norms = nn.ModuleDict({str(layer): build_norm(cfg, cfg.encoder_embed_dim) for layer in lower})
    if cfg.auxiliary_is_idle:
        for layer in set(lower) - set(cfg.read_layers):
            norms[str(layer)].requires_grad_(False)
    return norms


# -- axis C ----------------------------------------------------------------------------------------


def fusion(cfg: TransformerConfig) -> AuxiliaryFusion | None:
    """Builds the fusion of one layer of the main decoder; None without --aux-fusion."""
    if not cfg.aux_fusion:
        return None
    return AuxiliaryFusion(embed_dim=cfg.decoder_embed_dim, num_auxiliary=len(cfg.auxiliary_layers))


# -- axis D ----------------------------------------------------------------------------------------


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
        longest = cfg.max_source_positions if side == "encoder" else cfg.max_target_positions
        learned = cfg.of_side(side, "learned_pos")
        if not learned:  # room for padding: a table that grows leaves CUDA graphs with the old one
            longest += -longest % MULTIPLE
        added = PositionalEmbedding(longest, width, matrix.padding_idx, learned=learned)
    return TokenEmbedding(
        tokens=matrix,
        positions=added,
        scale=1.0 if cfg.no_scale_embedding else math.sqrt(width),
        layer_norm=layer_norm,
        dropout=cfg.dropout,
    )


def vocabulary_projection(cfg: TransformerConfig, matrix: nn.Embedding) -> nn.Linear:
    """Builds the projection to the vocabulary, possibly tied to the embedding matrix."""
    vocabulary, width = matrix.weight.shape
    projection = nn.Linear(width, vocabulary, bias=False)
    if cfg.share_decoder_input_output_embed or cfg.share_all_embeddings:
        projection.weight = matrix.weight
    else:
        nn.init.normal_(projection.weight, mean=0, std=width**-0.5)
    return projection
