"""The values of the axes as data: self-attention (A), source features (B), the base block (D).

Auxiliary decoders (C) are a list of layers. A new kind is one entry. The choices of flags, the
modules, the options of ``--encoder-layers-of``, and the tested variants and combinations come from
here. Modules are named, not imported: listings read this file without torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ...flags import flag_name
from ...modules.choices import CONTEXTS, GATES, HEAD_WEIGHTS, INITS, MIXED, ROUTINGS, context_levels
from ..constraints import flag, size

Options = Mapping[str, str]
"""Keyword of a module's constructor → the setting it takes: a field of ``TransformerConfig``, or
``layer``, the layer's number from 1."""
Naming = Callable[[str], str]
"""Option → what messages call it."""


@dataclass
class KindOptions:
    """Options of a self-attention kind; each field is a keyword of its module's constructor.

    Fields are made by :func:`flag`. Their ``setting`` is the field of ``TransformerConfig``, and so
    the flag, that gives the value for all layers of the kind.
    """

    def contradictions(self, name: Naming, layer: int) -> list[str]:
        """Returns one sentence for each contradiction between options with valid values.

        Args:
            name: what messages call an option
            layer: the highest layer with them, 1-based
        """
        return []

    @classmethod
    def settings(cls) -> dict[str, str]:
        """Returns option → the setting that gives its value for all layers."""
        return {each.name: each.metadata["setting"] for each in fields(cls)}

    @classmethod
    def flag_of(cls, option: str) -> str:
        """Returns the flag of an option."""
        return flag_name(cls.settings()[option])


@dataclass
class DualContextOptions(KindOptions):
    """Ampomah et al., section 4; published with f = 2."""

    kernel: int = size(
        2, "dual context: width f of the local context's convolution", setting="dc_kernel_size"
    )


@dataclass
class ContextAwareOptions(KindOptions):
    """Yang et al. 2019: contexts (eqs 8-10), Table 3's mixed parts, gates (eq. 6)."""

    context: str = flag(
        "deep-global+deep", "context-aware: context", one_of=CONTEXTS, setting="ctx_context"
    )
    on: str = flag(
        "both",
        "context-aware: queries, keys or both are mixed with the context",
        one_of=tuple(MIXED),
        setting="ctx_on",
    )
    gate: str = flag(
        "learnt", "context-aware: gates λ of the context", one_of=GATES, setting="ctx_gate"
    )

    def contradictions(self, name: Naming, layer: int) -> list[str]:
        """See :class:`KindOptions`."""
        if any(context_levels(self.context, layer)):
            return []
        return [
            f"{name('context')}: {self.context!r} is made of the inputs of lower layers, and layer "
            f"{layer} has none below it; include a higher layer, or choose another context."
        ]


@dataclass
class CrossAggregationOptions(KindOptions):
    """Cao et al. 2019: routing (eqs 10-15); its head weights are eq. (13)."""

    routing: str = flag(
        "both", "cross aggregation: routing", one_of=ROUTINGS, setting="xagg_routing"
    )
    init: str = flag(
        "zero", "cross aggregation: start of horizontal routing", one_of=INITS, setting="xagg_init"
    )
    iterations: int = flag(
        3,
        "cross aggregation: routing iterations; 0 is plain attention",
        at_least=0,
        setting="xagg_iterations",
    )
    head_weights: str = flag(
        "mean",
        "cross aggregation: mean or sum over positions in the head weights",
        one_of=HEAD_WEIGHTS,
        setting="xagg_head_weights",
    )
    checkpoint: bool = flag(
        False,
        "cross aggregation: recompute the routing in the backward pass to save memory",
        setting="xagg_checkpoint",
    )

    def contradictions(self, name: Naming, layer: int) -> list[str]:
        """See :class:`KindOptions`."""
        if self.init != "self" or self.routing != "vertical":
            return []
        return [
            f"{name('init')}: 'self' starts the horizontal routing at the logits, and "
            f"{name('routing')} vertical has none; choose zero, or {name('routing')} horizontal "
            "or both."
        ]


@dataclass(frozen=True)
class SelfAttentionKind:
    """A kind of self-attention: a value of ``--encoder-self-attention``, or the name of a layer in
    ``--encoder-layers-of``; likewise for decoders.

    Attributes:
        module: its file and class in ``modules``, a
            :class:`~dc_nmt_plugin.modules.core.self_attention.MultiHeadSelfAttention`
        options: the class of its options
        given: what its module needs of the model in addition to width, heads and dropout of
            attention weights
        not_in_decoders: the reason why it cannot be causal; "" if it can
    """

    module: str
    options: type[KindOptions] = KindOptions
    given: Options = field(default_factory=dict)
    not_in_decoders: str = ""


SELF_ATTENTION_KINDS: dict[str, SelfAttentionKind] = {
    "standard": SelfAttentionKind("core.self_attention.SelfAttention"),
    "dual_context": SelfAttentionKind(
        "dual_context.DualContextAttention",
        DualContextOptions,
        given={"residual_dropout": "dropout"},
    ),
    "context_aware": SelfAttentionKind(
        "context_aware.ContextAwareSelfAttention", ContextAwareOptions, given={"layer": "layer"}
    ),
    "cross_aggregation": SelfAttentionKind(
        "cross_aggregation.CrossAggregationSelfAttention",
        CrossAggregationOptions,
        not_in_decoders="routes over all positions, also later ones: it exists for the encoder "
        "only (--encoder-self-attention cross_aggregation)",
    ),
}
DECODER_KINDS = tuple(
    name for name, kind in SELF_ATTENTION_KINDS.items() if not kind.not_in_decoders
)
ENCODER_ONLY_KINDS = tuple(name for name in SELF_ATTENTION_KINDS if name not in DECODER_KINDS)


# name → the norm's class, for messages and listings; `kinds.build_norm` builds it
NORMS = {
    "layer_norm": "LayerNorm (Ba et al. 2016)",
    "rms_norm": "RMSNorm (Zhang and Sennrich 2019)",
}
POSITIONS = {
    "absolute": "added to the embeddings: sinusoidal (Vaswani et al. 2017), or learned with "
    "--encoder-learned-pos",
    "rotary": "queries and keys are rotated (Su et al. 2021)",
    "relative": "distances are added to keys and values (Shaw et al. 2018)",
}
# fairseq's, in its order, and the gated one
ACTIVATIONS = ("relu", "gelu", "gelu_fast", "gelu_accurate", "tanh", "linear", "swiglu")


@dataclass(frozen=True)
class Base:
    """A value of ``--base``: settings of the base block that flags do not give.

    Attributes:
        norm: of :data:`NORMS`
        pre_norm: whether the norms stand before the sublayers
        activation_fn: of :data:`ACTIVATIONS`
        positions: of :data:`POSITIONS`
    """

    norm: str
    pre_norm: bool
    activation_fn: str
    positions: str


BASES: dict[str, Base] = {
    "original": Base("layer_norm", False, "relu", "absolute"),  # Vaswani et al. 2017
    "modern": Base("rms_norm", True, "swiglu", "rotary"),
}


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
