"""Builds a Transformer from its configuration. Only here do modules meet settings."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from fairseq.data import Dictionary
from fairseq.models import FairseqEncoderDecoderModel, register_model
from torch import nn

from ...errors import ConfigError
from ...modules.auxiliary_fusion import AuxiliaryFusion
from ...modules.core.initial_weights import scale_with_depth
from ...modules.core.recording import give_places
from ...modules.source_layers import top_layers
from ..options import add_flags, read_config
from .config import MODEL_NAME, TransformerConfig, idle_settings
from .decoder import TransformerDecoder
from .decoder_stack import DecoderStack
from .embedding import TokenEmbedding, build_token_embedding, build_token_matrix
from .encoder import TransformerEncoder
from .kinds import build_aggregation, build_norm, build_self_attentions, build_source_attention
from .layers import BaseBlock, DecoderLayer, EncoderLayer
from .stack import LayerStack
from .stock import is_stock, stock_to_plugin

_STOCK_CRITERIONS = ("cross_entropy", "label_smoothed_cross_entropy")


@register_model(MODEL_NAME)
class TransformerModel(FairseqEncoderDecoderModel):
    """A Transformer on four axes: self-attention, source features, auxiliary decoders, base."""

    encoder: TransformerEncoder
    decoder: TransformerDecoder
    aux_weight: float = 1.0  # γ of the joint loss

    @staticmethod
    def add_args(parser: argparse.ArgumentParser) -> None:
        """Adds the flags of :class:`TransformerConfig`."""
        add_flags(parser, TransformerConfig)

    @staticmethod
    def idle_settings(flags: Mapping[str, Any]) -> dict[str, str]:
        """Returns the settings that have no effect in the described model.

        Returns:
            setting → what it is for, and what to do; nothing for contradictory flags, which
            :meth:`build_model` refuses
        """
        cfg = read_config(flags, TransformerConfig)
        try:
            cfg.check()
        except ConfigError:
            return {}
        return idle_settings(cfg)

    @classmethod
    def build_model(cls, args: Any, task: Any) -> TransformerModel:
        """
        Args:
            args: flags, from the command line or a checkpoint
            task: gives source and target dictionary

        Raises:
            ConfigError: the flags contradict each other
        """
        cfg = read_config(args, TransformerConfig)
        cfg.check()
        _check_criterion(cfg, args)
        return build(cfg, task.source_dictionary, task.target_dictionary)

    def upgrade_state_dict_named(self, state_dict: dict[str, Any], name: str) -> None:
        """Accepts checkpoints of fairseq's own ``transformer`` as a start."""
        if is_stock(state_dict):
            stock_to_plugin(state_dict)
        super().upgrade_state_dict_named(state_dict, name)


def _check_criterion(cfg: TransformerConfig, args: Any) -> None:
    """Refuses stock criterions, which would train only the main decoder without a warning."""
    criterion = getattr(args, "criterion", None)
    if cfg.auxiliary_layers and criterion in _STOCK_CRITERIONS:
        raise ConfigError(
            [
                f"--criterion: {criterion} ignores the auxiliary decoders of --aux-layers "
                f"{cfg.aux_layers}; use --criterion transformer_ms_aux or "
                "joint_label_smoothed_cross_entropy."
            ]
        )


def build(cfg: TransformerConfig, source: Dictionary, target: Dictionary) -> TransformerModel:
    """Builds a model for checked settings and two dictionaries.

    Raises:
        ConfigError: embeddings are to be shared between different dictionaries, or start from
            different files
    """
    if cfg.share_all_embeddings and source != target:
        raise ConfigError(
            [
                "--share-all-embeddings: source and target dictionary differ "
                f"({len(source)} and {len(target)} types); binarise the data with "
                "fairseq-preprocess --joined-dictionary, or give --no-share-all-embeddings."
            ]
        )
    if cfg.share_all_embeddings and cfg.decoder_embed_path not in (None, cfg.encoder_embed_path):
        raise ConfigError(
            [
                "--decoder-embed-path: all embeddings are shared, and start from those of "
                "--encoder-embed-path; give the file there."
            ]
        )
    source_matrix = build_token_matrix(source, cfg.encoder_embed_dim, cfg.encoder_embed_path)
    target_matrix = (
        source_matrix
        if cfg.share_all_embeddings
        else build_token_matrix(target, cfg.decoder_embed_dim, cfg.decoder_embed_path)
    )
    encoder = build_encoder(cfg, source, source_matrix)
    model = TransformerModel(encoder, build_decoder(cfg, target, target_matrix))
    model.aux_weight = cfg.aux_weight
    return model


def build_encoder(
    cfg: TransformerConfig, dictionary: Dictionary, tokens: nn.Embedding
) -> TransformerEncoder:
    block = _base_block(cfg, "encoder")
    layers = [EncoderLayer(each, block) for each in build_self_attentions(cfg, "encoder")]
    give_places(layers, "encoder")
    read_layers = top_layers(cfg.encoder_layers, cfg.num_source_layers)
    return TransformerEncoder(
        dictionary,
        _embedding(cfg, "encoder", tokens, cfg.max_source_positions),
        LayerStack(_scaled_with_depth(cfg, layers), **_stack_options(cfg, "encoder")),
        max_source_positions=cfg.max_source_positions,
        read_layers=read_layers,
        aggregation=build_aggregation(cfg),
        auxiliary_layers=cfg.auxiliary_layers,
        tap_norms=_tap_norms(cfg, set(read_layers)),
    )


def _tap_norms(cfg: TransformerConfig, read_layers: set[int]) -> nn.ModuleDict | None:
    # pre-norm leaves the layers' outputs unnormalised, and only the top has the final norm: a
    # lower layer gets a norm of its own where a decoder reads it, as the top layer does
    lower = sorted({*read_layers, *cfg.auxiliary_layers} - {cfg.encoder_layers})
    if not cfg.pre_norm("encoder") or not lower:
        return None
    norms = {str(layer): build_norm(cfg, cfg.encoder_embed_dim) for layer in lower}
    _freeze_untrained(cfg, [norms[str(layer)] for layer in lower if layer not in read_layers])
    return nn.ModuleDict(norms)


def _freeze_untrained(cfg: TransformerConfig, of_auxiliary: Iterable[nn.Module]) -> None:
    """Freezes the parameters that only auxiliary decoders use, if nothing trains them."""
    if cfg.aux_weight == 0 and not cfg.aux_fusion:
        # without this, distributed training would wait for their gradients
        for module in of_auxiliary:
            module.requires_grad_(False)


def build_decoder(
    cfg: TransformerConfig, dictionary: Dictionary, tokens: nn.Embedding
) -> TransformerDecoder:
    auxiliary = {layer: _decoder_stack(cfg, f"aux{layer}") for layer in cfg.auxiliary_layers}
    _freeze_untrained(cfg, auxiliary.values())
    return TransformerDecoder(
        dictionary,
        _embedding(cfg, "decoder", tokens, cfg.max_target_positions),
        _decoder_stack(cfg, "decoder"),
        _output_projection(cfg, tokens),
        max_target_positions=cfg.max_target_positions,
        auxiliary=auxiliary,
    )


def _decoder_stack(cfg: TransformerConfig, side: str) -> DecoderStack:
    """Builds the layers of the main or an auxiliary decoder, which differ in their source
    features."""
    main, block = side == "decoder", _base_block(cfg, "decoder")
    layers = [
        DecoderLayer(
            self_attn,
            build_source_attention(cfg, single=not main),
            block,
            _fusion(cfg) if main else None,
        )
        for self_attn in build_self_attentions(cfg, "decoder")
    ]
    give_places(layers, side)
    return DecoderStack(_scaled_with_depth(cfg, layers), **_stack_options(cfg, "decoder"))


def _fusion(cfg: TransformerConfig) -> nn.Module | None:
    if not cfg.aux_fusion:
        return None
    return AuxiliaryFusion(embed_dim=cfg.decoder_embed_dim, num_auxiliary=len(cfg.auxiliary_layers))


def _base_block(cfg: TransformerConfig, side: str) -> BaseBlock:
    return BaseBlock(
        embed_dim=getattr(cfg, f"{side}_embed_dim"),
        ffn_dim=getattr(cfg, f"{side}_ffn_embed_dim"),
        dropout=cfg.dropout,
        activation_dropout=cfg.activation_dropout,
        activation_fn=cfg.of_base.activation_fn,
        pre_norm=cfg.pre_norm(side),
        norm=partial(build_norm, cfg),
    )


def _scaled_with_depth(cfg: TransformerConfig, layers: Sequence[nn.Module]) -> Sequence[nn.Module]:
    if cfg.depth_scaled_init:
        for depth, layer in enumerate(layers, start=1):
            scale_with_depth(layer, depth, cfg.depth_scaled_init)
    return layers


def _stack_options(cfg: TransformerConfig, side: str) -> dict[str, Any]:
    width = getattr(cfg, f"{side}_embed_dim")
    return {
        "layer_norm": build_norm(cfg, width) if cfg.pre_norm(side) else None,
        "layerdrop": getattr(cfg, f"{side}_layerdrop"),
        "checkpoint_activations": cfg.checkpoint_activations,
    }


def _embedding(
    cfg: TransformerConfig,
    side: str,
    tokens: nn.Embedding,
    max_positions: int,
) -> TokenEmbedding:
    return build_token_embedding(
        tokens,
        max_positions=max_positions,
        learned=getattr(cfg, f"{side}_learned_pos"),
        no_positions=cfg.no_token_positional_embeddings or cfg.of_base.positions != "absolute",
        no_scale=cfg.no_scale_embedding,
        layer_norm=build_norm(cfg, tokens.embedding_dim) if cfg.layernorm_embedding else None,
        dropout=cfg.dropout,
    )


def _output_projection(cfg: TransformerConfig, tokens: nn.Embedding) -> nn.Linear:
    vocabulary, width = tokens.weight.shape
    projection = nn.Linear(width, vocabulary, bias=False)
    if cfg.share_decoder_input_output_embed or cfg.share_all_embeddings:
        projection.weight = tokens.weight
    else:
        nn.init.normal_(projection.weight, mean=0, std=width**-0.5)
    return projection
