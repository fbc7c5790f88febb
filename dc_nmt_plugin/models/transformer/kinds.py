"""Self-attention kinds (axis A) and source features (axis B) by name."""

from __future__ import annotations

from typing import Any

from torch import nn

from ...modules.context_aware import ContextAwareSelfAttention
from ...modules.core.attention import SourceAttention
from ...modules.core.self_attention import SelfAttention
from ...modules.cross_aggregation import CrossAggregationSelfAttention
from ...modules.dual_context import DualContextAttention
from ...modules.layer_aggregation import (
    CombineAggregation,
    IterativeCombineAggregation,
    IterativeLinearAggregation,
    LinearAggregation,
)
from ...modules.multi_layer_attention import MultiLayerAttention
from .config import MULTI_LAYER_ATTENTIONS, TransformerConfig


def build_self_attention(cfg: TransformerConfig, side: str, layer: int) -> nn.Module:
    """The self-attention of layer `layer` (1-based) of ``encoder`` or ``decoder``."""
    kind = cfg.kind_of(side, layer)
    common: dict[str, Any] = {
        "embed_dim": getattr(cfg, f"{side}_embed_dim"),
        "num_heads": getattr(cfg, f"{side}_attention_heads"),
        "dropout": cfg.attention_dropout,
    }
    if kind == "dual_context":
        return DualContextAttention(
            **common, kernel_size=cfg.dc_kernel_size, residual_dropout=cfg.dropout
        )
    if kind == "context_aware":
        return ContextAwareSelfAttention(
            **common, layer=layer, context=cfg.ctx_context, on=cfg.ctx_on
        )
    if kind == "cross_aggregation":
        return CrossAggregationSelfAttention(
            **common,
            directions=cfg.xagg_routing,
            init=cfg.xagg_init,
            iterations=cfg.xagg_iterations,
            head_weights=cfg.xagg_head_weights,
            checkpoint=cfg.xagg_checkpoint,
        )
    return SelfAttention(**common)


def build_source_attention(cfg: TransformerConfig, *, single: bool = False) -> nn.Module:
    """The encoder-decoder attention of one decoder layer.

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
    if single or cfg.source_features not in MULTI_LAYER_ATTENTIONS:
        return SourceAttention(**common)
    joint, summed = cfg.source_features[2], cfg.source_features[3]  # M-Ū0Ū1
    return MultiLayerAttention(
        **common,
        num_layers=cfg.num_source_layers,
        joint_weights=joint == "0",
        sum_contexts=summed == "1",
    )


def build_aggregation(cfg: TransformerConfig) -> nn.Module | None:
    """What turns several encoder layers into one source representation; None for the others."""
    sizes: dict[str, Any] = {
        "embed_dim": cfg.encoder_embed_dim,
        "num_layers": cfg.num_source_layers,
    }
    combine = {**sizes, "ffn_dim": cfg.encoder_ffn_embed_dim, "dropout": cfg.dropout}
    if cfg.source_features == "s-agg":
        return LinearAggregation(**sizes)
    if cfg.source_features == "iter-s-agg":
        return IterativeLinearAggregation(**sizes)
    if cfg.source_features == "c-agg":
        return CombineAggregation(**combine)
    if cfg.source_features == "iter-c-agg":
        return IterativeCombineAggregation(**combine)
    return None
