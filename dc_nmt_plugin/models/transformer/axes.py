"""The values of two axes as data: self-attention kinds (A) and source features (B).

A new kind is one entry. The choices of flags, the modules, and the tested variants and combinations
come from here. Modules are named, not imported: listings read this file without torch.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

Options = Mapping[str, str]
"""Keyword of a module's constructor → the setting it takes: a field of ``TransformerConfig``, or
``layer``, the layer's number from 1."""


@dataclass(frozen=True)
class SelfAttentionKind:
    """A value of ``--encoder-self-attention`` and ``--decoder-self-attention``.

    Attributes:
        module: its file and class in ``modules``, a
            :class:`~dc_nmt_plugin.modules.core.self_attention.MultiHeadSelfAttention`
        options: its options in addition to width, heads and dropout of attention weights
        not_in_decoders: the reason why it cannot be causal; "" if it can
    """

    module: str
    options: Options = field(default_factory=dict)
    not_in_decoders: str = ""


SELF_ATTENTION_KINDS: dict[str, SelfAttentionKind] = {
    "standard": SelfAttentionKind("core.self_attention.SelfAttention"),
    "dual_context": SelfAttentionKind(
        "dual_context.DualContextAttention",
        {"kernel_size": "dc_kernel_size", "residual_dropout": "dropout"},
    ),
    "context_aware": SelfAttentionKind(
        "context_aware.ContextAwareSelfAttention",
        {"layer": "layer", "context": "ctx_context", "on": "ctx_on", "gate": "ctx_gate"},
    ),
    "cross_aggregation": SelfAttentionKind(
        "cross_aggregation.CrossAggregationSelfAttention",
        {
            "directions": "xagg_routing",
            "init": "xagg_init",
            "iterations": "xagg_iterations",
            "head_weights": "xagg_head_weights",
            "checkpoint": "xagg_checkpoint",
        },
        not_in_decoders="routes over all positions, also later ones: it exists for the encoder "
        "only (--encoder-self-attention cross_aggregation)",
    ),
}
# settings that modules of several kinds have
_OF_ALL_KINDS = ("layer", "dropout")


def idle_settings(used: Collection[str]) -> dict[str, str]:
    """Returns the settings that belong only to self-attention kinds outside the model.

    Args:
        used: the kinds that it uses

    Returns:
        setting → the kind that has it
    """
    return {
        setting: name
        for name, kind in SELF_ATTENTION_KINDS.items()
        for setting in kind.options.values()
        if name not in used and setting not in _OF_ALL_KINDS
    }


DECODER_KINDS = tuple(
    name for name, kind in SELF_ATTENTION_KINDS.items() if not kind.not_in_decoders
)
ENCODER_ONLY_KINDS = tuple(name for name in SELF_ATTENTION_KINDS if name not in DECODER_KINDS)


@dataclass(frozen=True)
class SourceFeatures:
    """A value of ``--source-features``: input of the source attention of the main decoder.

    Attributes:
        aggregation: file and class in ``modules`` that makes one representation of several encoder
            layers, or None
        options: its options in addition to width and number of layers
        attention: settings of attention to several layers, or None for attention to one
    """

    aggregation: str | None = None
    options: Options = field(default_factory=dict)
    attention: Mapping[str, Any] | None = None

    @property
    def several(self) -> bool:
        """Returns True when more than the top encoder layer can be read."""
        return self.aggregation is not None or self.attention is not None


def _multi_layer(*, joint_weights: bool, sum_contexts: bool) -> SourceFeatures:
    return SourceFeatures(attention={"joint_weights": joint_weights, "sum_contexts": sum_contexts})


_FFN = {"ffn_dim": "encoder_ffn_embed_dim", "dropout": "dropout"}
SOURCE_FEATURES: dict[str, SourceFeatures] = {
    "top": SourceFeatures(),
    "s-agg": SourceFeatures("layer_aggregation.LinearAggregation"),
    "iter-s-agg": SourceFeatures("layer_aggregation.IterativeLinearAggregation"),
    "c-agg": SourceFeatures("layer_aggregation.CombineAggregation", _FFN),
    "iter-c-agg": SourceFeatures("layer_aggregation.IterativeCombineAggregation", _FFN),
    # M-Ū0Ū1 of the thesis
    "m-00": _multi_layer(joint_weights=True, sum_contexts=False),
    "m-01": _multi_layer(joint_weights=True, sum_contexts=True),
    "m-10": _multi_layer(joint_weights=False, sum_contexts=False),
    "m-11": _multi_layer(joint_weights=False, sum_contexts=True),
}
