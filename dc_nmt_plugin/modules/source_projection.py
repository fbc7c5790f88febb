"""Projects keys and values for all decoder layers at once, when decoding begins."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .core.attention import SourceAttention
from .core.source import Source
from .multi_layer_attention import MultiLayerAttention


def project_all(
    attentions: Sequence[SourceAttention | MultiLayerAttention], source: Source
) -> None:
    """Fills the cache of the source for the attentions of all decoder layers.

    Each source feature takes one matrix product, with the weights of the layers stacked. The cache
    then holds the same tensors as after the first step of each module. Modules that are already in
    the cache are skipped.

    Args:
        attentions: modules that attend to this source, all with the same number of features
        source: the features, and the cache to fill
    """
    waiting = [module for module in attentions if id(module) not in source.cache]
    if not waiting:
        return
    projections = [_projections(module) for module in waiting]
    # by feature, then by module: (S, M, 2C)
    projected = [
        _in_one_product(feature, list(of_all_modules))
        for feature, of_all_modules in zip(
            source.features, zip(*projections, strict=True), strict=True
        )
    ]
    for module, of_all_features in zip(waiting, zip(*projected, strict=True), strict=True):
        _keep(module, _arrange(module, of_all_features), source)


def _in_one_product(x: Tensor, linears: Sequence[nn.Linear]) -> tuple[Tensor, ...]:
    """Returns one (S, M, …) for each linear layer, from (S, M, C)."""
    weights: list[Tensor] = [linear.weight for linear in linears]
    biases: list[Tensor] = [linear.bias for linear in linears if linear.bias is not None]
    output = F.linear(x, torch.cat(weights), torch.cat(biases) if biases else None)
    return torch.split(output, [linear.out_features for linear in linears], dim=-1)


def _projections(module: SourceAttention | MultiLayerAttention) -> list[nn.Linear]:
    if isinstance(module, SourceAttention):
        return [module.kv_proj]
    return [proj for proj in module.kv_projs if isinstance(proj, nn.Linear)]


def _arrange(
    module: SourceAttention | MultiLayerAttention, projected: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    if isinstance(module, SourceAttention):
        return module.arrange_source(*projected)
    return module.arrange_source(projected, decoding=True)


def _keep(module: nn.Module, tensors: tuple[Tensor, ...], source: Source) -> None:
    source.cached(module, lambda _: tensors, keep=True)
