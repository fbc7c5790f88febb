"""Builds the modules of two axes: self-attention (A) and source features (B)."""

from __future__ import annotations

import pkgutil
from typing import Any

from torch import nn

from ... import modules
from ...modules.core.attention import SourceAttention
from ...modules.multi_layer_attention import MultiLayerAttention
from .axes import SELF_ATTENTION_KINDS, SOURCE_FEATURES, Options
from .config import TransformerConfig


def module_class(name: str) -> type[nn.Module]:
    """Returns the class that :mod:`.axes` names, such as ``dual_context.DualContextAttention``."""
    found: type[nn.Module] = pkgutil.resolve_name(f"{modules.__name__}.{name}")
    return found


def build_self_attention(cfg: TransformerConfig, side: str, layer: int) -> nn.Module:
    """Builds the self-attention of layer `layer` (1-based) of ``encoder`` or ``decoder``."""
    kind = SELF_ATTENTION_KINDS[cfg.kind_of(side, layer)]
    return module_class(kind.module)(
        embed_dim=getattr(cfg, f"{side}_embed_dim"),
        num_heads=getattr(cfg, f"{side}_attention_heads"),
        dropout=cfg.attention_dropout,
        **_values(cfg, kind.options, layer=layer),
    )


def build_source_attention(cfg: TransformerConfig, *, single: bool = False) -> nn.Module:
    """Builds the encoder-decoder attention of one decoder layer.

    Args:
        cfg: the settings
        single: attend to one source layer whatever --source-features says (auxiliary decoders)
    """
    common: dict[str, Any] = {
        "embed_dim": cfg.decoder_embed_dim,
        "source_dim": cfg.encoder_embed_dim,
        "num_heads": cfg.decoder_attention_heads,
        "dropout": cfg.attention_dropout,
    }
    several = SOURCE_FEATURES[cfg.source_features].attention
    if single or several is None:
        return SourceAttention(**common)
    return MultiLayerAttention(**common, num_layers=cfg.num_source_layers, **several)


def build_aggregation(cfg: TransformerConfig) -> nn.Module | None:
    """Builds the aggregation of encoder layers; None if --source-features has none."""
    features = SOURCE_FEATURES[cfg.source_features]
    if features.aggregation is None:
        return None
    return module_class(features.aggregation)(
        embed_dim=cfg.encoder_embed_dim,
        num_layers=cfg.num_source_layers,
        **_values(cfg, features.options),
    )


def _values(cfg: TransformerConfig, options: Options, **more: Any) -> dict[str, Any]:
    settings = {**vars(cfg), **more}
    return {keyword: settings[name] for keyword, name in options.items()}
