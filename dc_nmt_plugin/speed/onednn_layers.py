"""Linear layers that keep their weights in oneDNN's format while sentences are translated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any

import torch
from torch import Tensor, nn

from ..machine import processor
from ..modules.core.slow_linear import SlowLinear
from .bfloat16 import multiplies_in_bfloat16


@contextmanager
def onednn_layers(parts: Iterable[nn.Module]) -> Iterator[None]:
    """Puts layers that multiply by oneDNN in the place of the linear layers of a model's parts.

    In bfloat16 where that is chosen, and on AMD's CPUs with AVX-512: there torch multiplies float32
    by MKL, which does not use AVX-512. Elsewhere MKL is faster (docs/speed.md).
    """
    modules = {module: None for part in parts for module in part.modules()}  # each once, in order
    places = [
        (module, name, layer)
        for module in modules
        for name, layer in module.named_children()
        if _can_multiply(layer)
    ]
    packed = {layer: OneDnnLinear(layer) for _, _, layer in places}
    try:
        for module, name, layer in places:
            setattr(module, name, packed[layer])
        yield
    finally:
        for module, name, layer in places:
            setattr(module, name, layer)


def _can_multiply(layer: Any) -> bool:
    is_linear = type(layer).forward in (nn.Linear.forward, SlowLinear.forward)
    if not is_linear or torch.is_autocast_enabled("cpu"):
        return False
    helps = _helps(bfloat16=multiplies_in_bfloat16(layer.weight))
    return bool(helps and layer.weight.is_cpu and layer.weight.dtype == torch.float32)


@cache
def _helps(bfloat16: bool) -> bool:
    known = torch.ops.mkldnn
    if not hasattr(known, "_linear_pointwise"):  # in a torch without oneDNN
        return False
    if bfloat16:
        return bool(known._is_mkldnn_bf16_supported())
    return processor().startswith("AMD") and torch.backends.cpu.get_cpu_capability() == "AVX512"


class OneDnnLinear(nn.Module):
    """Computes the output of a linear layer by oneDNN, without gradients."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self._layer = [layer]  # a list: it is no part of this module
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight, self.bias = layer.weight, layer.bias

    # A step of beam search multiplies few rows, so that a conversion at every call would take long.
    # At the first call, because the layers of unused decoders then take no memory.
    @cached_property
    def _factors(self) -> tuple[Tensor, Tensor | None]:
        (layer,) = self._layer
        weight = layer.matrix if isinstance(layer, SlowLinear) else layer.weight
        dtype = torch.bfloat16 if multiplies_in_bfloat16(weight) else weight.dtype
        bias = None if layer.bias is None else layer.bias.to(dtype)
        return torch.ops.mkldnn._reorder_linear_weight(weight.detach().to(dtype)), bias

    def forward(self, x: Tensor) -> Tensor:
        """Maps (…, C) → (…, N)."""
        weight, bias = self._factors
        product: Tensor = torch.ops.mkldnn._linear_pointwise(
            x.to(weight.dtype), weight, bias, "none", [], ""
        )
        return product.float()
