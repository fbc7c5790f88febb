"""The Transformer architectures: sizes, and each paper's variants."""

from __future__ import annotations

from typing import Any

from ..transformer.axes import AGGREGATIONS, MULTI_LAYER
from ..transformer.config import MODEL_NAME
from .family import Family


def _size(layers: int, width: int, ffn: int, heads: int) -> dict[str, Any]:
    return {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (
            ("layers", layers),
            ("embed_dim", width),
            ("ffn_embed_dim", ffn),
            ("attention_heads", heads),
        )
    }


# name of a size → settings; "" is the base size of Vaswani et al. 2017
SIZES: dict[str, dict[str, Any]] = {
    "": {**_size(6, 512, 2048, 8), "share_all_embeddings": True},
    "big": {**_size(6, 1024, 4096, 16), "dropout": 0.3, "share_all_embeddings": True},
    # embeddings of their own for source, target and output: context-aware's Table 1, Zh-En
    "unshared": _size(6, 512, 2048, 8),
    "big_unshared": {**_size(6, 1024, 4096, 16), "dropout": 0.3},
    "iwslt": {**_size(4, 256, 1024, 4), "share_all_embeddings": True},  # thesis ch. 3, 4
    "iwslt_ff512": {**_size(4, 256, 512, 4), "share_all_embeddings": True},  # thesis Table 5.1
    "tiny": {**_size(4, 128, 256, 4), "dropout": 0.3, "share_all_embeddings": True},
    "micro": {**_size(2, 128, 256, 4), "share_all_embeddings": True},  # the quickstart
}


_DC = "dual_context"
_CTX = "context_aware"
_XAGG = "cross_aggregation"


def context(context: str, *sides: str) -> dict[str, Any]:
    return {**{f"{side}_self_attention": _CTX for side in sides}, "ctx_context": context}


FAMILIES = (
    Family(
        name="transformer_standard",
        about="the Transformer of Vaswani et al. 2017, equal to fairseq's transformer",
        cites="vaswani2017attention",
        variants={"": {}},
        sizes=SIZES,
        model=MODEL_NAME,
        criterion="joint_label_smoothed_cross_entropy",
        task="translation_dc_nmt",
    ),
    Family(
        name="transformer_dc",
        about="self-attention with a convolution's local context beside the global one",
        cites="ampomah2021dual, section 4; ampomah2021thesis, chapter 5",
        variants={
            "": {"encoder_self_attention": _DC},  # Enc-DC, the papers' recommendation
            "dec": {"decoder_self_attention": _DC},
            "full": {"encoder_self_attention": _DC, "decoder_self_attention": _DC},
        },
        sizes=SIZES,
        model=MODEL_NAME,
    ),
    Family(
        name="transformer_ctxaware",
        about="queries and keys mixed with global and lower layers' contexts",
        cites="yang2019context, Tables 1 and 3",
        variants={
            "": context("deep-global+deep", "encoder"),  # the paper's best
            "global": context("global", "encoder"),
            "deep_global": context("deep-global", "encoder"),
            "deep": context("deep", "encoder"),
            "dec_deep_global": context("deep-global", "decoder"),
            "dec": context("deep-global+deep", "decoder"),
            "full": context("deep-global+deep", "encoder", "decoder"),
            "queries": {**context("deep-global+deep", "encoder"), "ctx_on": "queries"},
            "keys": {**context("deep-global+deep", "encoder"), "ctx_on": "keys"},
        },
        sizes=SIZES,
        model=MODEL_NAME,
    ),
    Family(
        name="transformer_cross_agg",
        about="encoder attention logits, routed over heads and positions",
        cites="cao2019cross",
        variants={
            "": {"encoder_self_attention": _XAGG},
            # the printed weights of the heads (eq. 13); the others' do not depend on length
            "sum": {"encoder_self_attention": _XAGG, "xagg_head_weights": "sum"},
            "self": {"encoder_self_attention": _XAGG, "xagg_init": "self"},
            "self_sum": {
                "encoder_self_attention": _XAGG,
                "xagg_init": "self",
                "xagg_head_weights": "sum",
            },
            "horizontal": {"encoder_self_attention": _XAGG, "xagg_routing": "horizontal"},
            "horizontal_self": {
                "encoder_self_attention": _XAGG,
                "xagg_routing": "horizontal",
                "xagg_init": "self",
            },
            "vertical": {"encoder_self_attention": _XAGG, "xagg_routing": "vertical"},
        },
        sizes=SIZES,
        model=MODEL_NAME,
    ),
    Family(
        name="transformer_mlmha",
        about="the decoder attends to several encoder layers, aggregated or each by itself",
        cites="ampomah2021thesis, chapter 3",
        variants={
            "": {"source_features": "m-10"},  # the thesis's best
            **{
                name.replace("-", "_"): {"source_features": name}
                for name in (*AGGREGATIONS, *MULTI_LAYER)
                if name != "m-10"
            },
        },
        sizes=SIZES,
        model=MODEL_NAME,
    ),
    Family(
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
        sizes=SIZES,
        model=MODEL_NAME,
    ),
)
