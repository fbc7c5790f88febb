"""Linear layers that keep their weights in oneDNN's format while sentences are translated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from ...machine import processor
from ...modules.core.slow_linear import SlowLinear
from ...modules.fast.bfloat16 import multiplies_in_bfloat16

_FORWARDS = (nn.Linear.forward, SlowLinear.forward)


@contextmanager
def onednn_layers(parts: Iterable[nn.Module]) -> Iterator[None]:
    """Lets linear layers multiply by oneDNN: in bfloat16 where that is chosen, else on AMD's CPUs
    with AVX-512.

    torch multiplies float32 by MKL, which does not use AVX-512 there. Elsewhere MKL is faster
    (docs/speed.md), and nothing changes.

    Args:
        parts: of a model, with all their linear layers
    """
    layers: list[Any] = []
    try:
        if not torch.is_autocast_enabled("cpu"):
            layers += [layer for part in parts for layer in part.modules() if _can_multiply(layer)]
        for layer in layers:
            # an attribute of the instance comes before the method of its class
            layer.__dict__["forward"] = _Packed(layer)
        yield
    finally:
        for layer in layers:
            layer.__dict__.pop("forward", None)


def _can_multiply(layer: nn.Module) -> bool:
    if type(layer).forward not in _FORWARDS:
        return False
    weight: Any = layer.weight
    helps = _helps_bfloat16() if multiplies_in_bfloat16(weight) else _helps_float32()
    return helps and weight.is_cpu and weight.dtype == torch.float32


@cache
def _helps_float32() -> bool:
    return (
        processor().startswith("AMD")
        and torch.backends.cpu.get_cpu_capability() == "AVX512"
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )


@cache
def _helps_bfloat16() -> bool:
    known = torch.ops.mkldnn
    return hasattr(known, "_linear_pointwise") and known._is_mkldnn_bf16_supported()


class _Packed:
    """Computes a layer's output for (…, C), without gradients.

    The weights are brought into oneDNN's format at the first call: a step of beam search multiplies
    them with few rows, and the conversion at every call would take long. Layers that are not
    called, such as those of decoders that are not used, take no memory.
    """

    def __init__(self, layer: Any) -> None:
        self.layer = layer
        self.weight: Tensor | None = None
        self.bias: Tensor | None = layer.bias

    def __call__(self, x: Tensor) -> Tensor:
        if self.weight is None:
            weight = self.layer.matrix if isinstance(self.layer, SlowLinear) else self.layer.weight
            dtype = torch.bfloat16 if multiplies_in_bfloat16(weight) else weight.dtype
            self.weight = torch.ops.mkldnn._reorder_linear_weight(weight.detach().to(dtype))
            self.bias = None if self.bias is None else self.bias.to(dtype)
        x = x.to(self.weight.dtype)
        product: Tensor = torch.ops.mkldnn._linear_pointwise(
            x, self.weight, self.bias, "none", [], ""
        )
        return product.float()
