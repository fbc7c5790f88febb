"""A matrix over several blocks of inputs that have much in common."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SlowLinear(nn.Linear):
    """[x^1; …; x^n] W + b with W = `weight` / n, which learns as slowly as a matrix of one block.

    Adam moves every entry of a matrix equally far. Where the blocks are much the same, as means
    over the sentence, or one layer's states and the next one's, each step of n blocks moves the
    output n times as far as that of one; hence the division.

    It is kept in the checkpoint (`scale`, a buffer): checkpoints from before have none, and their
    W is `weight` itself. Whoever sets initial weights sets W, then calls :meth:`rescale`.

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
        """Take `weight` for W, times `start`."""
        with torch.no_grad():
            self.weight.mul_(start / self.scale)

    @property
    def matrix(self) -> Tensor:
        """W (out_features, n block), as ``nn.Linear`` keeps it."""
        return self.weight * self.scale

    def forward(self, blocks: Tensor) -> Tensor:
        """(…, n block) → (…, out_features)."""
        return F.linear(blocks, self.matrix, self.bias)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *arguments: Any
    ) -> None:
        state_dict.setdefault(f"{prefix}scale", torch.ones_like(self.scale))
        load: Any = super()._load_from_state_dict  # without types in torch 2.8
        load(state_dict, prefix, *arguments)
