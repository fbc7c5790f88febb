"""Linear layer over several blocks of similar inputs."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SlowLinear(nn.Linear):
    """Computes [x^1; …; x^n] W + b with W = `weight` / n, which Adam moves n times less.

    Adam moves every entry of a matrix equally far. If the blocks are similar, such as means over
    the sentence or the states of adjacent layers, a step of n blocks moves the output n times as
    far as a step of one block. The division prevents this.

    Older checkpoints have no `scale`; their W is `weight` itself. To set initial weights, set W,
    then call :meth:`rescale`.

    Args:
        block: width of a block
        out_features: width of the output
        blocks: their number n
        bias: whether there is a b

    Attributes:
        scale: () 1 / n
    """

    scale: Tensor

    def __init__(self, block: int, out_features: int, *, blocks: int, bias: bool = True) -> None:
        super().__init__(blocks * block, out_features, bias=bias)
        self.register_buffer("scale", torch.tensor(1.0 / blocks))

    def rescale(self, start: float = 1.0) -> None:
        """Interprets `weight` as W, and multiplies it by `start`."""
        with torch.no_grad():
            self.weight.mul_(start / self.scale)

    @property
    def matrix(self) -> Tensor:
        """Returns W (out_features, n block), in the layout of ``nn.Linear``."""
        return self.weight * self.scale

    def forward(self, x: Tensor) -> Tensor:
        """Maps the blocks side by side (…, n block) → (…, out_features)."""
        return F.linear(x, self.matrix, self.bias)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *arguments: Any
    ) -> None:
        state_dict.setdefault(f"{prefix}scale", torch.ones_like(self.scale))
        load: Any = super()._load_from_state_dict  # without types in torch 2.8
        load(state_dict, prefix, *arguments)
