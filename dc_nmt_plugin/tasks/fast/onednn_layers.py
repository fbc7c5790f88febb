"""Linear layers that keep their weights in oneDNN's format while sentences are translated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from ...machine import processor
from ...modules.core.slow_linear import SlowLinear
from ...modules.fast.bfloat16 import multiplies_in_bfloat16


@contextmanager
def onednn_layers(parts: Iterable[nn.Module]) -> Iterator[None]:
    """Lets the linear layers of a model's parts multiply by oneDNN.

    In bfloat16 where that is chosen, and on AMD's CPUs with AVX-512: there torch multiplies float32
    by MKL, which does not use AVX-512. Elsewhere MKL is faster (docs/speed.md).
    """
    modules = [module for part in parts for module in part.modules()]
    layers: list[Any] = list(filter(_can_multiply, modules))
    try:
        for layer in layers:
            # an attribute of the instance comes before the method of its class
            layer.__dict__["forward"] = _packed(layer)
        yield
    finally:
        for layer in layers:
            layer.__dict__.pop("forward", None)


def _can_multiply(layer: nn.Module) -> bool:
    is_linear = type(layer).forward in (nn.Linear.forward, SlowLinear.forward)
    if not is_linear or torch.is_autocast_enabled("cpu"):
        return False
    weight: Any = layer.weight
    helps = _helps(bfloat16=multiplies_in_bfloat16(weight))
    return helps and weight.is_cpu and weight.dtype == torch.float32


@cache
def _helps(bfloat16: bool) -> bool:
    known = torch.ops.mkldnn
    if not hasattr(known, "_linear_pointwise"):  # in a torch without oneDNN
        return False
    if bfloat16:
        return bool(known._is_mkldnn_bf16_supported())
    return processor().startswith("AMD") and torch.backends.cpu.get_cpu_capability() == "AVX512"


def _packed(layer: Any) -> Callable[[Tensor], Tensor]:
    """Returns a function that computes a layer's output for (…, C), without gradients."""

    # A step of beam search multiplies few rows, so that a conversion at every call would take long.
    # At the first call, because the layers of unused decoders then take no memory.
    @cache
    def factors() -> tuple[Tensor, Tensor | None]:
        weight = layer.matrix if isinstance(layer, SlowLinear) else layer.weight
        dtype = torch.bfloat16 if multiplies_in_bfloat16(weight) else weight.dtype
        bias = None if layer.bias is None else layer.bias.to(dtype)
        return torch.ops.mkldnn._reorder_linear_weight(weight.detach().to(dtype)), bias

    def forward(x: Tensor) -> Tensor:
        weight, bias = factors()
        x = x.to(weight.dtype)
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
        return product.float()

    return forward
