"""Settings of every variant that the ground rules are tested on."""

from __future__ import annotations

from typing import Any

from dc_nmt_plugin.modules.mechanisms import BASES, SELF_ATTENTIONS, SOURCE_FEATURES, decoder_kinds

PRE_NORM = {"encoder_normalize_before": True, "decoder_normalize_before": True}

# name → (architecture, settings): each kind on each side and each way to read the encoder, as the
# axes list them; then what has options of its own
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "standard": ("transformer_standard", {}),
    **{
        f"{kind} in the {side}": ("transformer_standard", {f"{side}_self_attention": kind})
        for side, kinds in (("encoder", SELF_ATTENTIONS), ("decoder", decoder_kinds()))
        for kind in kinds
        if kind != "standard"
    },
    **{
        name: ("transformer_standard", {"source_features": name})
        for name in SOURCE_FEATURES
        if name != "top"
    },
    "standard pre-norm": ("transformer_standard", PRE_NORM),
    "standard two widths": ("transformer_standard", {"decoder_embed_dim": 18}),
    "Full-DC": ("transformer_dc_full", {}),
    "Full-DC f=1": ("transformer_dc_full", {"dc_kernel_size": 1}),
    "Full-DC f=3": ("transformer_dc_full", {"dc_kernel_size": 3}),
    "Full-DC f=4 pre-norm": ("transformer_dc_full", {"dc_kernel_size": 4, **PRE_NORM}),
    "Enc-DC layers 2-3": ("transformer_dc", {"encoder_self_attention_layers": "2-3"}),
    "Dec-DC layer 1": ("transformer_dc_dec", {"decoder_self_attention_layers": "1"}),
    "ctx global, both sides": ("transformer_ctxaware_full", {"ctx_context": "global"}),
    "ctx deep-global, both sides": ("transformer_ctxaware_full", {"ctx_context": "deep-global"}),
    "ctx deep, keys": ("transformer_ctxaware_full", {"ctx_context": "deep", "ctx_on": "keys"}),
    "ctx deep-global+deep, both sides": ("transformer_ctxaware_full", {}),
    "ctx both contexts, queries, pre-norm": (
        "transformer_ctxaware_full",
        {"ctx_on": "queries", **PRE_NORM},
    ),
    "ctx without gates, both sides": ("transformer_ctxaware_full", {"ctx_gate": "none"}),
    "ctx decoder layer 2": ("transformer_ctxaware_dec", {"decoder_self_attention_layers": "2"}),
    "cross-agg self": ("transformer_cross_agg_self", {}),
    "cross-agg horizontal": ("transformer_cross_agg_horizontal", {}),
    "cross-agg vertical, checkpointed": (
        "transformer_cross_agg_vertical",
        {"xagg_checkpoint": True},
    ),
    "cross-agg T=0": ("transformer_cross_agg", {"xagg_iterations": 0}),
    "c-agg n=2": ("transformer_standard", {"source_features": "c-agg", "source_layers": 2}),
    "m-01 n=2": ("transformer_standard", {"source_features": "m-01", "source_layers": 2}),
    "m-10 n=1": ("transformer_standard", {"source_features": "m-10", "source_layers": 1}),
    "m-10 pre-norm, two widths": (
        "transformer_mlmha",
        {"decoder_embed_dim": 18, **PRE_NORM},
    ),
    "iter-c-agg pre-norm": ("transformer_mlmha_iter_c_agg", PRE_NORM),
    **{f"{name} base": ("transformer_standard", {"base": name}) for name in BASES},
    "modern Full-DC": ("transformer_dc_full", {"base": "modern"}),
    "relative positions": (
        "transformer_dc_full",
        {"positions": "relative", "max_relative_position": 2},
    ),
    "rotary, learned norm of embeddings": (
        "transformer_cross_agg",
        {"positions": "rotary", "norm": "rms_norm", "layernorm_embedding": True},
    ),
    "mixed layers": (
        "transformer_standard",
        {
            "encoder_layers_of": "dual_context(kernel=3) context_aware(gate=none) "
            "cross_aggregation(iterations=2)",
            "decoder_layers_of": "context_aware(on=keys, context=global) dual_context(kernel=1)",
        },
    ),
    "MS-1": ("transformer_ms_aux", {}),
    "MS-12 + AIF": ("transformer_ms_aux_aif", {"aux_layers": "1,2"}),
    "MS-2 + AIF pre-norm": ("transformer_ms_aux_aif", {"aux_layers": "2", **PRE_NORM}),
    "MS-1 + AIF, gamma 0": ("transformer_ms_aux_aif", {"aux_weight": 0.0}),
}
# one of each kind, and of each option that chooses other code: for rules that neither a number
# nor a choice of layers can break
MODULES = [
    *(name for name, (_, more) in VARIANTS.items() if len(more) == 1 and name.endswith("coder")),
    *(name for name in VARIANTS if name in SOURCE_FEATURES),
    *("standard", "standard pre-norm", "standard two widths", "m-10 pre-norm, two widths"),
    *("ctx deep-global+deep, both sides", "ctx without gates, both sides", "Full-DC f=3"),
    *("cross-agg self", "cross-agg vertical, checkpointed", "cross-agg T=0"),
    *("MS-1", "MS-12 + AIF", "MS-2 + AIF pre-norm"),
    *("modern Full-DC", "relative positions", "mixed layers"),
]
for _arch, _settings in VARIANTS.values():
    if "decoder_embed_dim" in _settings:
        _settings["share_all_embeddings"] = False
