"""Output projection of attention with several concatenated contexts."""

from __future__ import annotations

from .initial_weights import output_projection
from .slow_linear import SlowLinear

# of the weights that would give one context's variance; our choice, measured in
# docs/papers/dual-context.md
START = 0.3


class ContextProjection(SlowLinear):
    """Computes [c^1; …; c^n] W + b with small steps (:class:`SlowLinear`) and a small start.

    At the start of training, all contexts are similar: means over the sentence. With small steps
    alone and a short warm-up, the output of the sublayer still became much larger than the residual
    connection of post-norm, and was the same at every position to the end. :data:`START` prevents
    this.

    Args:
        embed_dim: width C of each context and of the output
        contexts: number n of contexts
    """

    def __init__(self, embed_dim: int, *, contexts: int) -> None:
        super().__init__(embed_dim, embed_dim, blocks=contexts)
        output_projection(self, contexts=contexts)
        self.rescale(START)
