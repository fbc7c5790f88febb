"""The output projection of attention with several contexts side by side."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .initial_weights import output_projection

START = 0.3  # of the weights that would give one context's variance; our choice, measured below


class ContextProjection(nn.Linear):
    """[c^1; …; c^n] W + b with W = `weight` / n, which learns slowly and starts quiet.

    At the start of a training all contexts are much the same (means over the sentence), and Adam
    moves every entry of a matrix equally far: with n C instead of C inputs each step of W moves
    the output n times as far (hence the division). With the division alone, but a short warm-up,
    the sublayer's output still came to drown the residual connection of post-norm and was the same
    at every position to the end (hence the quiet start, :data:`START`).

    Enc-DC on Multi30k (4+4 layers of 128/256, dropout 0.3, Adam at 3e-3 after 400 updates, one
    cosine of 1,600; validation perplexity at updates 320, 560 and 1,600, where it was so long):

    ============================  ======  =====  =====
    fairseq's initial weights       103     49     24   (cosine of the top layer's states 0.99)
    with :data:`START`               69     26          (plain Transformer 105, 47, 13: 0.33)
    ============================  ======  =====  =====

    The division is kept in the checkpoint (`scale`, a buffer): checkpoints from before have none,
    and their W is `weight` itself.

    Args:
        embed_dim: width C of each context and of the output
        contexts: number n of contexts

    Attributes:
        scale: () 1 / n
    """

    scale: Tensor

    def __init__(self, embed_dim: int, *, contexts: int) -> None:
        super().__init__(contexts * embed_dim, embed_dim)
        output_projection(self, contexts=contexts)
        self.register_buffer("scale", torch.tensor(1.0 / contexts))
        with torch.no_grad():
            self.weight.mul_(START / self.scale)

    @property
    def matrix(self) -> Tensor:
        """W (C, n C)."""
        return self.weight * self.scale

    def forward(self, contexts: Tensor) -> Tensor:
        """(…, n C) → (…, C)."""
        return F.linear(contexts, self.matrix, self.bias)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *arguments: Any
    ) -> None:
        state_dict.setdefault(f"{prefix}scale", torch.ones_like(self.scale))
        load: Any = super()._load_from_state_dict  # without types in torch 2.8
        load(state_dict, prefix, *arguments)
