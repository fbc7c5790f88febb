"""``gru_selfattn_residual``: the GRU encoder-decoder and its six readouts."""

from __future__ import annotations

import argparse
from typing import Any

from fairseq.data import Dictionary
from fairseq.models import FairseqEncoderDecoderModel, register_model

from ...modules.conditional_gru import ConditionalGRU
from ...modules.readout import Readout
from ...modules.state_attention import StateMemory, StateSummary
from ..options import add_flags, read_config
from .build import (
    build_embedding,
    build_output_projection,
    build_residual,
    decoder_options,
    dropout_between,
    finish_weights,
)
from .config import GRU, GRUConfig
from .decoder import GRUDecoder
from .encoder import GRUEncoder


@register_model(GRU)
class GRUModel(FairseqEncoderDecoderModel):
    """dl4mt's attention model with self-attentive residual connections.

    Miculicich Werlen et al. 2018, "Self-Attentive Residual Decoder for Neural Machine Translation".
    """

    encoder: GRUEncoder
    decoder: GRUDecoder

    @staticmethod
    def add_args(parser: argparse.ArgumentParser) -> None:
        """Adds the flags of :class:`GRUConfig`."""
        add_flags(parser, GRUConfig)

    @classmethod
    def build_model(cls, args: Any, task: Any) -> GRUModel:
        """
        Args:
            args: flags, from the command line or a checkpoint
            task: gives source and target dictionary

        Raises:
            ConfigError: listing every bad flag
        """
        cfg = read_config(args, GRUConfig)
        cfg.check()
        return build(cfg, task.source_dictionary, task.target_dictionary)


def build(cfg: GRUConfig, source: Dictionary, target: Dictionary) -> GRUModel:
    """Builds a model for checked settings and two dictionaries."""
    encoder = GRUEncoder(
        source,
        build_embedding(source, cfg.embed_dim),
        hidden_dim=cfg.hidden_dim,
        dropout=dropout_between(cfg),
        max_source_positions=cfg.max_source_positions,
    )
    model = GRUModel(encoder, build_decoder(cfg, target))
    finish_weights(model, cfg, target)
    return model


def build_decoder(cfg: GRUConfig, dictionary: Dictionary) -> GRUDecoder:
    embed_tokens = build_embedding(dictionary, cfg.embed_dim)
    memory = summary = None
    if cfg.readout == "memory-rnn":
        memory = StateMemory(state_dim=cfg.hidden_dim, embed_dim=cfg.embed_dim)
    if cfg.readout == "self-attentive-rnn":
        summary = StateSummary(state_dim=cfg.hidden_dim, attention_dim=cfg.embed_dim)
    return GRUDecoder(
        dictionary,
        embed_tokens,
        build_output_projection(
            len(dictionary),
            cfg.embed_dim,
            tied_to=embed_tokens if cfg.share_decoder_input_output_embed else None,
        ),
        cell=ConditionalGRU(
            embed_dim=cfg.embed_dim,
            state_dim=cfg.hidden_dim,
            source_dim=2 * cfg.hidden_dim,
            attention_dim=cfg.attention_dim or 2 * cfg.hidden_dim,
            context_dim=cfg.embed_dim,
            memory=memory,
        ),
        residual=build_residual(cfg),
        summary=summary,
        readout=Readout(
            state_dim=cfg.hidden_dim,
            embed_dim=cfg.embed_dim,
            summary_dim=None if summary is None else cfg.hidden_dim,
        ),
        **decoder_options(cfg),
    )
