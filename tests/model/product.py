"""Every combination of the axes on tiny models, and a small set that covers all pairs."""

from __future__ import annotations

import itertools
from typing import Any

from helpers import build

from dc_nmt_plugin.models.transformer.config import SELF_ATTENTION_KINDS, SOURCE_FEATURES

Combination = tuple[str, str, str, str]

AUXILIARY: dict[str, dict[str, Any]] = {
    "none": {},
    "auxiliary": {"aux_layers": "1"},
    "auxiliary+AIF": {"aux_layers": "1", "aux_fusion": True},
}
DECODER_KINDS = [kind for kind in SELF_ATTENTION_KINDS if kind != "cross_aggregation"]
AXES = (SELF_ATTENTION_KINDS, DECODER_KINDS, SOURCE_FEATURES, list(AUXILIARY))
PRODUCT: list[Combination] = list(itertools.product(*AXES))

# every pair of values of two axes at least once: 36 models, as many as the two longest axes need
PAIRS: list[Combination] = [
    (
        encoder,
        DECODER_KINDS[(i + j) % 3],
        source,
        list(AUXILIARY)[(i + 2 * j + j // 3) % 3],
    )
    for i, encoder in enumerate(SELF_ATTENTION_KINDS)
    for j, source in enumerate(SOURCE_FEATURES)
]

SMALL: dict[str, Any] = {
    f"{side}_{name}": value
    for side in ("encoder", "decoder")
    for name, value in (
        *(("embed_dim", 8), ("ffn_embed_dim", 12)),
        *(("layers", 2), ("attention_heads", 2)),
    )
}


def settings(combination: Combination) -> dict[str, Any]:
    """The flags of a combination, by their names in Python."""
    encoder, decoder, source, auxiliary = combination
    return {
        "encoder_self_attention": encoder,
        "decoder_self_attention": decoder,
        "source_features": source,
        **AUXILIARY[auxiliary],
    }


def model(combination: Combination, seed: int = 1, **more: Any) -> Any:
    """A tiny model of a combination, in evaluation mode."""
    return build("transformer_standard", seed=seed, **{**SMALL, **settings(combination), **more})
