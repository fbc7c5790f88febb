"""The Transformer as fairseq's model: its flags, its parts, and checkpoints of stock fairseq."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from fairseq.data import Dictionary
from fairseq.models import FairseqEncoderDecoderModel, register_model
from omegaconf import OmegaConf, open_dict
from torch import nn

from ...errors import ConfigError
from ...flags import MECHANISM_FOLDERS, STOCK_LOSSES, TRANSFORMER, value_of
from ..options import Configured
from .build import build_decoder, build_encoder, token_matrix
from .config import TransformerConfig, idle_settings
from .decoder import IGNORED, TransformerDecoder
from .encoder import TransformerEncoder
from .stock import is_stock, stock_to_plugin


@register_model(TRANSFORMER)
class TransformerModel(Configured, FairseqEncoderDecoderModel):
    """A Transformer on four axes: self-attention, source features, auxiliary decoders, base."""

    encoder: TransformerEncoder
    decoder: TransformerDecoder
    aux_weight: float = 1.0  # γ of the joint loss
    config_class = TransformerConfig
    idle_settings = staticmethod(idle_settings)

    @classmethod
    def build_model(cls, args: Any, task: Any) -> TransformerModel:
        """
        Raises:
            ConfigError: the flags contradict each other or the dictionaries
        """
        cfg = TransformerConfig.read(args)
        cfg.check()
        _remember(args, cfg)
        if cfg.auxiliary_layers and getattr(args, "criterion", None) in STOCK_LOSSES:
            raise ConfigError(IGNORED)  # before anything is written; others at the first step
        return build(cfg, task.source_dictionary, task.target_dictionary)

    def upgrade_state_dict_named(self, state_dict: dict[str, Any], name: str) -> None:
        """Accepts checkpoints of fairseq's own ``transformer`` as a start."""
        if is_stock(state_dict):
            stock_to_plugin(state_dict)
        super().upgrade_state_dict_named(state_dict, name)


def _remember(args: Any, cfg: TransformerConfig) -> None:
    """Writes the folders of code from outside into the settings, and so into checkpoints."""
    folders = {**(value_of(args, MECHANISM_FOLDERS) or {}), **cfg.folders()}
    if folders:
        with open_dict(args) if OmegaConf.is_config(args) else nullcontext():
            setattr(args, MECHANISM_FOLDERS, folders)


def build(cfg: TransformerConfig, source: Dictionary, target: Dictionary) -> TransformerModel:
    """Builds a model for checked settings and two dictionaries.

    Raises:
        ConfigError: embeddings are to be shared between different dictionaries, or start from
            different files
    """
    if cfg.share_all_embeddings and source != target:
        raise ConfigError(
            "--share-all-embeddings: source and target dictionary differ "
            f"({len(source)} and {len(target)} types); binarise the data with "
            "fairseq-preprocess --joined-dictionary, or give --no-share-all-embeddings."
        )
    if cfg.share_all_embeddings and cfg.decoder_embed_path not in (None, cfg.encoder_embed_path):
        raise ConfigError(
            "--decoder-embed-path: all embeddings are shared, and start from those of "
            "--encoder-embed-path; give the file there."
        )
    matrix = token_matrix(source, cfg.encoder_embed_dim, cfg.encoder_embed_path)
    target_matrix = matrix
    if not cfg.share_all_embeddings:
        target_matrix = token_matrix(target, cfg.decoder_embed_dim, cfg.decoder_embed_path)
    model = TransformerModel(
        build_encoder(cfg, source, matrix), build_decoder(cfg, target, target_matrix)
    )
    model.aux_weight = cfg.aux_weight
    return model


def from_stock(model: nn.Module, settings: Any, task: Any) -> nn.Module:
    """Returns fairseq's own ``transformer`` as the model of this package that computes the same.

    Other models, and those with something that this package does not have, stay as they are.
    """
    state = dict(model.state_dict())
    if not is_stock(state):
        return model
    try:
        twin = TransformerModel.build_model(settings, task)
        twin.upgrade_state_dict_named(state, "")
        twin.load_state_dict(state)
    except (ConfigError, RuntimeError):  # RuntimeError: it has other parameters
        return model
    return twin.to(next(model.parameters()).dtype).eval()
