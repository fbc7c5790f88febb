"""Every combination of the axes on tiny models, and small sets that cover all values and pairs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from helpers import build

from dc_nmt_plugin.models.transformer.axes import (
    DECODER_KINDS,
    SELF_ATTENTION_KINDS,
    SOURCE_FEATURES,
)

Combination = tuple[str, ...]

AUXILIARY: dict[str, dict[str, Any]] = {
    "none": {},
    "auxiliary": {"aux_layers": "1"},
    "auxiliary+AIF": {"aux_layers": "1", "aux_fusion": True},
}
AXES: list[Sequence[str]] = [
    *(tuple(SELF_ATTENTION_KINDS), DECODER_KINDS, tuple(SOURCE_FEATURES), tuple(AUXILIARY))
]
PRODUCT: list[Combination] = list(itertools.product(*AXES))


def pairs_of(combinations: Iterable[Combination]) -> set[tuple[tuple[int, str], ...]]:
    """Every pair of values, each with its axis, that stand together in one of the combinations."""
    return {
        pair
        for combination in combinations
        for pair in itertools.combinations(enumerate(combination), 2)
    }


def values_of(combinations: Iterable[Combination]) -> set[tuple[int, str]]:
    """Every value, with its axis, of the combinations."""
    return {value for combination in combinations for value in enumerate(combination)}


def covering(
    parts_of: Callable[[Iterable[Combination]], set[Any]], product: Sequence[Combination]
) -> list[Combination]:
    """Few combinations in which all parts of the product occur: the greedy choice."""
    missing, chosen = parts_of(product), []
    while missing:
        chosen.append(max(product, key=lambda candidate: len(parts_of([candidate]) & missing)))
        missing -= parts_of(chosen[-1:])
    return chosen


PAIRS = covering(pairs_of, PRODUCT)
VALUES = covering(values_of, PRODUCT)

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
