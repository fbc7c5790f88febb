"""Builds the modules of the axes: self-attention (A), source features (B), the base block (D)."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from typing import Any

from fairseq.modules import LayerNorm
from torch import nn

from ... import modules
from ...modules.core.attention import SourceAttention
from ...modules.core.positions import Positions, RelativePositions, RotaryPositions
from ...modules.core.rms_norm import RMSNorm
from ...modules.multi_layer_attention import MultiLayerAttention
from .axes import SELF_ATTENTION_KINDS, SOURCE_FEATURES, Options
from .config import TransformerConfig
from .specification import LayerKind


def module_class(name: str) -> type[nn.Module]:
    """Returns the class that :mod:`.axes` names, such as ``dual_context.DualContextAttention``."""
    found: type[nn.Module] = pkgutil.resolve_name(f"{modules.__name__}.{name}")
    return found


def build_self_attentions(cfg: TransformerConfig, side: str) -> Iterator[nn.Module]:
    """Yields the self-attention of every layer of ``encoder`` or ``decoder``, lowest first.

    One at a time: the initial weights for a seed depend on the order in which modules are built.
    """
    for number, chosen in enumerate(cfg.layers_of(side), start=1):
        yield _build_self_attention(cfg, side, number, chosen)


def _build_self_attention(
    cfg: TransformerConfig, side: str, number: int, chosen: LayerKind
) -> nn.Module:
    kind = SELF_ATTENTION_KINDS[chosen.kind]
    width, heads = getattr(cfg, f"{side}_embed_dim"), getattr(cfg, f"{side}_attention_heads")
    attention: Any = module_class(kind.module)(
        embed_dim=width,
        num_heads=heads,
        dropout=cfg.attention_dropout,
        bias=not cfg.no_attention_bias,
        **_values(cfg, kind.given, layer=number),
        **vars(chosen.options),
    )
    attention.positions = _build_positions(cfg, width // heads)
    built: nn.Module = attention
    return built


def _build_positions(cfg: TransformerConfig, head_dim: int) -> Positions | None:
    positions = cfg.of_base.positions
    if positions == "rotary":
        return RotaryPositions(head_dim=head_dim)
    if positions == "relative":
        return RelativePositions(head_dim=head_dim, clip=cfg.max_relative_position)
    return None  # in the embeddings


def build_norm(cfg: TransformerConfig, width: int) -> nn.Module:
    """Builds a norm of the sublayers, of the stacks or of the embeddings.

    Norms inside a mechanism are those of its paper's equations, on every base.
    """
    if cfg.of_base.norm == "rms_norm":
        return RMSNorm(width)
    norm: nn.Module = LayerNorm(width)
    return norm


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
        "bias": not cfg.no_attention_bias,
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
