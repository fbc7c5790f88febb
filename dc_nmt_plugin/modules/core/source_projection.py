"""Projects keys and values for all decoder layers at once, when decoding begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .source import Source


@runtime_checkable
class ProjectsSource(Protocol):
    """An encoder-decoder attention whose projections of the source can be stacked with others'."""

    def source_projections(self) -> Sequence[nn.Module]:
        """Returns the linear layer of each source feature, in the features' order."""

    def arrange_for_decoding(
        self, projected: Sequence[Tensor], source: Source
    ) -> tuple[Tensor, ...]:
        """Returns what the module keeps in the source's cache, of its layers' outputs (S, M, …)."""


def project_all(attentions: Sequence[nn.Module], source: Source) -> None:
    """Fills the source's cache for the attentions of all decoder layers.

    One matrix product for each source feature, with the layers' weights stacked. What is kept is
    what each module's own first step would have kept. Modules already in the cache are left alone,
    and so is a module that is no :class:`ProjectsSource`: its own first step projects.

    Args:
        attentions: modules that attend to this source
        source: the features, and the cache to fill
    """
    waiting = [
        module
        for module in attentions
        if isinstance(module, ProjectsSource) and id(module) not in source.cache
    ]
    if not waiting:
        return
    projections = [module.source_projections() for module in waiting]
    if not all(isinstance(linear, nn.Linear) for group in projections for linear in group):
        return  # 8-bit layers, whose weights cannot be stacked
    # by feature, then by module: (S, M, 2C)
    projected = [
        _in_one_product(feature, list(of_all_modules))
        for feature, of_all_modules in zip(
            source.features, zip(*projections, strict=True), strict=True
        )
    ]
    for module, of_all_features in zip(waiting, zip(*projected, strict=True), strict=True):
        _keep(module, module.arrange_for_decoding(of_all_features, source), source)


def _in_one_product(x: Tensor, linears: Sequence[Any]) -> tuple[Tensor, ...]:
    """Returns one (S, M, …) for each linear layer, from (S, M, C)."""
    weights: list[Tensor] = [linear.weight for linear in linears]
    biases: list[Tensor] = [linear.bias for linear in linears if linear.bias is not None]
    output = F.linear(x, torch.cat(weights), torch.cat(biases) if biases else None)
    return torch.split(output, [linear.out_features for linear in linears], dim=-1)


def _keep(module: object, tensors: tuple[Tensor, ...], source: Source) -> None:
    source.cached(module, lambda _: tensors, keep=True)
