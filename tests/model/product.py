"""Every combination of the axes on tiny models, and small sets that cover all values and pairs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from covering import Combination, covering
from helpers import build

from dc_nmt_plugin.modules.mechanisms import BASES, SELF_ATTENTIONS, SOURCE_FEATURES, decoder_kinds

AUXILIARY: dict[str, dict[str, Any]] = {
    "none": {},
    "auxiliary": {"aux_layers": "1"},
    "auxiliary+AIF": {"aux_layers": "1", "aux_fusion": True},
}
BASE: dict[str, dict[str, Any]] = {
    **{name: {"base": name} for name in BASES},
    "relative": {"positions": "relative", "max_relative_position": 2},
}
AXES: list[Sequence[str]] = [
    tuple(SELF_ATTENTIONS),
    decoder_kinds(),
    tuple(SOURCE_FEATURES),
    tuple(AUXILIARY),
    tuple(BASE),
]
PRODUCT: list[Combination] = list(itertools.product(*AXES))


PAIRS = covering(AXES, 2)
VALUES = covering(AXES, 1)

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
    encoder, decoder, source, auxiliary, base = combination
    return {
        "encoder_self_attention": encoder,
        "decoder_self_attention": decoder,
        "source_features": source,
        **AUXILIARY[auxiliary],
        **BASE[base],
    }


def model(combination: Combination, seed: int = 1, **more: Any) -> Any:
    """A tiny model of a combination, in evaluation mode."""
    return build("transformer_standard", seed=seed, **{**SMALL, **settings(combination), **more})
