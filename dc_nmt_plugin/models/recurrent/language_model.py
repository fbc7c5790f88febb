"""``lstm_lm_selfattn_residual``: an LSTM language model with the same connections."""

from __future__ import annotations

import argparse
from typing import Any

from fairseq.data import Dictionary
from fairseq.models import FairseqLanguageModel, register_model

from ...errors import ConfigError
from ...modules.lstm import LanguageLSTM
from ...modules.readout import Readout
from ..options import add_flags, read_config
from .build import (
    build_embedding,
    build_output_projection,
    build_residual,
    decoder_options,
    finish_weights,
)
from .config import LANGUAGE_MODEL, LanguageModelConfig
from .decoder import LSTMDecoder


@register_model(LANGUAGE_MODEL)
class LSTMLanguageModel(FairseqLanguageModel):
    """LSTM language model for fairseq's task (Miculicich Werlen et al. 2018, section 7.3)."""

    decoder: LSTMDecoder

    @staticmethod
    def add_args(parser: argparse.ArgumentParser) -> None:
        """Adds the flags of :class:`LanguageModelConfig`."""
        add_flags(parser, LanguageModelConfig)

    @classmethod
    def build_model(cls, args: Any, task: Any) -> LSTMLanguageModel:
        """
        Args:
            args: flags, from the command line or a checkpoint
            task: gives the dictionaries of inputs and outputs

        Raises:
            ConfigError: listing every bad flag
        """
        cfg = read_config(args, LanguageModelConfig)
        cfg.check()
        return build(cfg, task.source_dictionary, task.target_dictionary)


def build(cfg: LanguageModelConfig, source: Dictionary, target: Dictionary) -> LSTMLanguageModel:
    """Builds a model for checked settings; ``--output-dictionary-size`` shortens `target`.

    Raises:
        ConfigError: embeddings are to be shared between dictionaries of different sizes
    """
    if cfg.share_decoder_input_output_embed and len(source) != len(target):
        raise ConfigError(
            [
                "--share-decoder-input-output-embed: inputs and outputs have "
                f"{len(source)} and {len(target)} types; leave out --output-dictionary-size."
            ]
        )
    embed_tokens = build_embedding(source, cfg.embed_dim)
    plain = cfg.readout == "plain"
    decoder = LSTMDecoder(
        target,
        embed_tokens,
        build_output_projection(
            len(target),
            cfg.hidden_dim if plain else cfg.embed_dim,
            tied_to=embed_tokens if cfg.share_decoder_input_output_embed else None,
        ),
        lstm=LanguageLSTM(embed_dim=cfg.embed_dim, state_dim=cfg.hidden_dim),
        residual=build_residual(cfg),
        readout=None if plain else Readout(state_dim=cfg.hidden_dim, embed_dim=cfg.embed_dim),
        **decoder_options(cfg),
    )
    model = LSTMLanguageModel(decoder)
    finish_weights(model, cfg, target)
    return model
