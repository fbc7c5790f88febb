"""Linear layers that multiply by oneDNN on CPUs whose maker is not that of torch's MKL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ...machine import processor
from ...modules.core.slow_linear import SlowLinear

_FORWARDS = (nn.Linear.forward, SlowLinear.forward)


@contextmanager
def onednn_layers(parts: Iterable[nn.Module]) -> Iterator[None]:
    """Lets linear layers multiply by oneDNN, in float32 and on AMD's processors.

    torch multiplies by MKL, which is slower than oneDNN there. On Intel's processors it is faster
    (docs/speed.md), and nothing changes. CTranslate2 chooses in the same way.

    Args:
        parts: of a model, with all their linear layers
    """
    layers: list[Any] = []
    try:
        if _helps() and not torch.is_autocast_enabled("cpu"):
            layers += [layer for part in parts for layer in part.modules() if _can_multiply(layer)]
            for layer in layers:
                learns = torch.is_grad_enabled()
                # an attribute of the instance comes before the method of its class
                layer.__dict__["forward"] = partial(_learn, layer) if learns else _Packed(layer)
        yield
    finally:
        for layer in layers:
            layer.__dict__.pop("forward", None)


@cache
def _helps() -> bool:
    return (
        processor().startswith("AMD")
        and torch.backends.mkldnn.is_available()
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )


def _can_multiply(layer: nn.Module) -> bool:
    return (
        type(layer).forward in _FORWARDS
        and layer.weight.device.type == "cpu"
        and layer.weight.dtype == torch.float32
    )


def _matrix(layer: Any) -> Tensor:
    weight: Tensor = layer.matrix if isinstance(layer, SlowLinear) else layer.weight
    return weight


def _multiply(weight: Tensor, bias: Tensor | None, x: Tensor) -> Tensor:
    result: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return result


class _Packed:
    """Computes a layer's output for (…, C), without gradients.

    The weights are brought into oneDNN's format at the first call: a step of beam search multiplies
    them with few rows, and the conversion at every call would take long. Layers that are not
    called, such as those of decoders that are not used, take no memory.
    """

    def __init__(self, layer: Any) -> None:
        self.layer = layer
        self.weight: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        if self.weight is None:
            weight = _matrix(self.layer).detach()
            self.weight = torch.ops.mkldnn._reorder_linear_weight(weight)
        return _multiply(self.weight, self.layer.bias, x)


def _learn(layer: Any, x: Tensor) -> Tensor:
    rows: Tensor = _Linear.apply(x.reshape(-1, x.size(-1)), _matrix(layer), layer.bias)
    return rows.view(*x.shape[:-1], rows.size(-1))


class _Linear(torch.autograd.Function):
    """Computes x Wᵀ + b, (R, C) → (R, N). Not for (…, C): fairseq changes outputs in place,
    and those of oneDNN would be views of what they are computed in."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _multiply(weight, bias, x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        need_x, need_weight, need_bias = ctx.needs_input_grad
        return (
            _multiply(weight.t(), None, gradient) if need_x else None,
            gradient.t() @ x if need_weight else None,  # as fast by MKL
            gradient.sum(dim=0) if need_bias else None,
        )
