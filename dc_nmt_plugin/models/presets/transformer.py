"""The Transformer architectures: sizes, and each paper's variants."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..transformer.config import MODEL_NAME
from .family import Family


def _size(
    layers: int, width: int, ffn: int, heads: int, *, shared: bool = True, **others: Any
) -> dict[str, Any]:
    """Returns the settings of both sides; `shared` is for all embeddings."""
    size: dict[str, Any] = {}
    for side in ("encoder", "decoder"):
        size[f"{side}_layers"] = layers
        size[f"{side}_embed_dim"] = width
        size[f"{side}_ffn_embed_dim"] = ffn
        size[f"{side}_attention_heads"] = heads
    size.update(others)
    if shared:
        size["share_all_embeddings"] = True
    return size


# name of a size → settings; "" is the base size of Vaswani et al. 2017
SIZES: dict[str, dict[str, Any]] = {
    "": _size(6, 512, 2048, 8),
    "big": _size(6, 1024, 4096, 16, dropout=0.3),
    # embeddings of their own for source, target and output: context-aware's Table 1, Zh-En
    "unshared": _size(6, 512, 2048, 8, shared=False),
    "big_unshared": _size(6, 1024, 4096, 16, dropout=0.3, shared=False),
    "iwslt": _size(4, 256, 1024, 4),  # thesis ch. 3, 4
    "iwslt_ff512": _size(4, 256, 512, 4),  # thesis Table 5.1
    "tiny": _size(4, 128, 256, 4, dropout=0.3),
    "micro": _size(2, 128, 256, 4),  # the quickstart
}

# the mechanisms in the encoder, alone or with more settings
DC = {"encoder_self_attention": "dual_context"}
DC_DECODER = {"decoder_self_attention": "dual_context"}
XAGG = {"encoder_self_attention": "cross_aggregation"}
CTX = {"encoder_self_attention": "context_aware"}
CTX_DECODER = {"decoder_self_attention": "context_aware"}
BOTH = {"ctx_context": "deep-global+deep"}


_family = partial(Family, sizes=SIZES, model=MODEL_NAME)

FAMILIES = (
    _family(
        name="transformer_standard",
        about="the Transformer of Vaswani et al. 2017, equal to fairseq's transformer",
        cites="vaswani2017attention",
        variants={"": {}},
        criterion="joint_label_smoothed_cross_entropy",
        task="translation_dc_nmt",
    ),
    _family(
        name="transformer_dc",
        about="self-attention with a convolution's local context beside the global one",
        cites="ampomah2021dual, section 4; ampomah2021thesis, chapter 5",
        variants={
            "": DC,  # Enc-DC, the papers' recommendation
            "dec": DC_DECODER,
            "full": {**DC, **DC_DECODER},
        },
    ),
    _family(
        name="transformer_ctxaware",
        about="queries and keys mixed with global and lower layers' contexts",
        cites="yang2019context, Tables 1 and 3",
        variants={
            "": {**CTX, **BOTH},  # the paper's best
            "global": {**CTX, "ctx_context": "global"},
            "deep_global": {**CTX, "ctx_context": "deep-global"},
            "deep": {**CTX, "ctx_context": "deep"},
            "dec_deep_global": {**CTX_DECODER, "ctx_context": "deep-global"},
            "dec": {**CTX_DECODER, **BOTH},
            "full": {**CTX, **CTX_DECODER, **BOTH},
            "queries": {**CTX, **BOTH, "ctx_on": "queries"},
            "keys": {**CTX, **BOTH, "ctx_on": "keys"},
        },
    ),
    _family(
        name="transformer_cross_agg",
        about="encoder attention logits, routed over heads and positions",
        cites="cao2019cross",
        variants={
            "": XAGG,
            # the printed weights of the heads (eq. 13); the others' do not depend on length
            "sum": {**XAGG, "xagg_head_weights": "sum"},
            "self": {**XAGG, "xagg_init": "self"},
            "self_sum": {**XAGG, "xagg_init": "self", "xagg_head_weights": "sum"},
            "horizontal": {**XAGG, "xagg_routing": "horizontal"},
            "horizontal_self": {**XAGG, "xagg_routing": "horizontal", "xagg_init": "self"},
            "vertical": {**XAGG, "xagg_routing": "vertical"},
        },
    ),
    _family(
        name="transformer_mlmha",
        about="the decoder attends to several encoder layers, aggregated or each by itself",
        cites="ampomah2021thesis, chapter 3",
        variants={
            "": {"source_features": "m-10"},  # the thesis's best
            "s_agg": {"source_features": "s-agg"},
            "iter_s_agg": {"source_features": "iter-s-agg"},
            "c_agg": {"source_features": "c-agg"},
            "iter_c_agg": {"source_features": "iter-c-agg"},
            "m_00": {"source_features": "m-00"},
            "m_01": {"source_features": "m-01"},
            "m_11": {"source_features": "m-11"},
        },
    ),
    _family(
        name="transformer_ms_aux",
        about="auxiliary decoders on lower encoder layers, a joint loss, optional fusion",
        cites="ampomah2021thesis, chapter 4",
        variants={
            "": {"aux_layers": "1"},  # MS-1
            "aif": {"aux_layers": "1", "aux_fusion": True},
            "13": {"aux_layers": "1,3"},
            "13_aif": {"aux_layers": "1,3", "aux_fusion": True},
            "123": {"aux_layers": "1,2,3"},
            "123_aif": {"aux_layers": "1,2,3", "aux_fusion": True},
            "3": {"aux_layers": "3"},
            "3_aif": {"aux_layers": "3", "aux_fusion": True},
        },
    ),
)
