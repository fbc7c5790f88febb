"""``gru_selfattn_residual`` and ``lstm_lm_selfattn_residual``: builds them from their settings."""

from __future__ import annotations

from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.models import FairseqEncoderDecoderModel, FairseqLanguageModel, register_model
from torch import Tensor, nn

from ...errors import ConfigError
from ...flags import GRU, LANGUAGE_MODEL
from ...modules.conditional_gru import ConditionalGRU
from ...modules.core.initial_weights import SCALE, init_linear
from ...modules.lstm import LanguageLSTM
from ...modules.readout import Readout
from ...modules.residual_context import (
    BesideLastWord,
    ContentResidual,
    ContentScopeResidual,
    MeanResidual,
    ResidualContext,
)
from ...modules.state_attention import StateMemory, StateSummary
from ..options import Configured, read_config
from .config import AND_LAST, GRUConfig, LanguageModelConfig
from .decoder import GRUDecoder, LSTMDecoder
from .encoder import GRUEncoder


@register_model(GRU)
class GRUModel(Configured, FairseqEncoderDecoderModel):
    """dl4mt's attention model with self-attentive residual connections.

    Miculicich Werlen et al. 2018, "Self-Attentive Residual Decoder for Neural Machine Translation".
    """

    encoder: GRUEncoder
    decoder: GRUDecoder
    config_class = GRUConfig

    @classmethod
    def build_model(cls, args: Any, task: Any) -> GRUModel:
        """
        Raises:
            ConfigError: listing every bad flag
        """
        cfg = read_config(args, GRUConfig)
        cfg.check()
        source, target = task.source_dictionary, task.target_dictionary
        encoder = GRUEncoder(
            source,
            build_embedding(source, cfg.embed_dim),
            hidden_dim=cfg.hidden_dim,
            dropout=cfg.inner_dropout,
            max_source_positions=cfg.max_source_positions,
        )
        matrix = build_embedding(target, cfg.embed_dim)
        memory = summary = None
        if cfg.readout == "memory-rnn":
            memory = StateMemory(state_dim=cfg.hidden_dim, embed_dim=cfg.embed_dim)
        if cfg.readout == "self-attentive-rnn":
            summary = StateSummary(state_dim=cfg.hidden_dim, attention_dim=cfg.embed_dim)
        decoder = GRUDecoder(
            target,
            matrix,
            build_output_projection(cfg, len(target), cfg.embed_dim, matrix),
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
            dropout=cfg.inner_dropout,
            readout_dropout=cfg.dropout,
            max_target_positions=cfg.max_target_positions,
        )
        model = cls(encoder, decoder)
        finish_weights(model, cfg, target)
        return model


@register_model(LANGUAGE_MODEL)
class LSTMLanguageModel(Configured, FairseqLanguageModel):
    """LSTM language model with the same connections (Miculicich Werlen et al. 2018, 7.3)."""

    decoder: LSTMDecoder
    config_class = LanguageModelConfig

    @classmethod
    def build_model(cls, args: Any, task: Any) -> LSTMLanguageModel:
        """
        Raises:
            ConfigError: listing every bad flag, or embeddings are to be shared between dictionaries
                of different sizes
        """
        cfg = read_config(args, LanguageModelConfig)
        cfg.check()
        source, target = task.source_dictionary, task.target_dictionary
        if cfg.share_decoder_input_output_embed and len(source) != len(target):
            raise ConfigError(
                "--share-decoder-input-output-embed: inputs and outputs have "
                f"{len(source)} and {len(target)} types; leave out --output-dictionary-size."
            )
        matrix = build_embedding(source, cfg.embed_dim)
        plain = cfg.readout == "plain"
        width = cfg.hidden_dim if plain else cfg.embed_dim
        decoder = LSTMDecoder(
            target,
            matrix,
            build_output_projection(cfg, len(target), width, matrix),
            lstm=LanguageLSTM(embed_dim=cfg.embed_dim, state_dim=cfg.hidden_dim),
            residual=build_residual(cfg),
            readout=None if plain else Readout(state_dim=cfg.hidden_dim, embed_dim=cfg.embed_dim),
            dropout=cfg.inner_dropout,
            readout_dropout=cfg.dropout,
            max_target_positions=cfg.max_target_positions,
        )
        model = cls(decoder)
        finish_weights(model, cfg, target)
        return model


def build_embedding(dictionary: Dictionary, width: int) -> nn.Embedding:
    """Builds word vectors from N(0, 0.01²), with zeros for padding."""
    matrix = nn.Embedding(len(dictionary), width, padding_idx=dictionary.pad())
    nn.init.normal_(matrix.weight, std=SCALE)
    nn.init.zeros_(matrix.weight[dictionary.pad()])
    return matrix


def build_output_projection(
    cfg: GRUConfig | LanguageModelConfig, vocabulary: int, width: int, matrix: nn.Embedding
) -> nn.Linear:
    """Builds the projection to the vocabulary, with a bias, possibly tied to the embeddings."""
    projection = init_linear(nn.Linear(width, vocabulary))
    if cfg.share_decoder_input_output_embed:
        projection.weight = matrix.weight
    return projection


def build_residual(cfg: GRUConfig | LanguageModelConfig) -> ResidualContext:
    """Builds what the readout sees of the words so far; for the baselines, the last word."""
    summary = cfg.readout.removesuffix(AND_LAST)
    residual = ResidualContext()
    if summary == "mean":
        residual = MeanResidual()
    elif summary == "content":
        residual = ContentResidual(embed_dim=cfg.embed_dim)
    elif summary == "content+scope":
        residual = ContentScopeResidual(embed_dim=cfg.embed_dim, state_dim=cfg.hidden_dim)
    return residual if summary == cfg.readout else BesideLastWord(residual)


def finish_weights(model: Any, cfg: GRUConfig | LanguageModelConfig, words: Dictionary) -> None:
    """Changes the published initial weights (dl4mt) as --weight-init and --output-bias-init say."""
    for name, parameter in model.named_parameters():
        if cfg.weight_init == "dl4mt" or parameter.dim() < 2:
            continue
        if "embed_tokens" in name:
            if cfg.weight_init == "xavier":  # of unit length on average; padding stays zero
                parameter.data.mul_(parameter.size(1) ** -0.5 / SCALE)
        elif cfg.weight_init == "xavier":
            nn.init.xavier_uniform_(parameter)
        else:
            nn.init.normal_(parameter, std=SCALE)
    if cfg.output_bias_init == "unigram":
        model.decoder.output_projection.bias.data = unigram_logits(words)


def unigram_logits(dictionary: Dictionary) -> Tensor:
    """Returns the logarithms of the relative frequencies of the types (V), from the dictionary.

    A dictionary counts only words. The end of the sentence gets the count of the most frequent
    word, about one per sentence, and types that never occur get one half. The words that
    ``--output-dictionary-size`` removes add their counts to the unknown word, which replaces them.
    """
    all_counts = torch.tensor(dictionary.count, dtype=torch.float64)
    counts, cut_off = all_counts[: len(dictionary)], all_counts[len(dictionary) :]
    counts[: dictionary.nspecial] = 0
    counts[dictionary.eos()] = counts.max()
    counts[dictionary.unk()] = cut_off.sum()
    counts.clamp_(min=0.5)
    return (counts / counts.sum()).log().float()
