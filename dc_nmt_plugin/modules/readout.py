"""The input of a recurrent decoder's output layer (Miculicich Werlen et al. 2018, eqs 3, 8, 18)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .core.initial_weights import init_linear


class Readout(nn.Module):
    """``tanh(W_s s_t + W_y d_t + W_c c_t [+ W_m s̃_t])``, of embedding width.

    Args:
        state_dim: width d of the states
        embed_dim: width e of the words and of the output
        summary_dim: width of s̃_t, or None when there is none
    """

    def __init__(self, *, state_dim: int, embed_dim: int, summary_dim: int | None = None) -> None:
        super().__init__()
        self.state_proj = init_linear(nn.Linear(state_dim, embed_dim))
        self.word_proj = init_linear(nn.Linear(embed_dim, embed_dim, bias=False))
        self.summary_proj = None
        if summary_dim is not None:
            self.summary_proj = init_linear(nn.Linear(summary_dim, embed_dim, bias=False))

    def forward(
        self,
        states: Tensor,
        words: Tensor,
        *,
        context: Tensor | None = None,
        summary: Tensor | None = None,
    ) -> Tensor:
        """
        Args:
            states: s_t, (B, T, d)
            words: d_t, or y_{t-1} in the baselines, (B, T, e)
            context: the source context, already projected: W_c c_t, (B, T, e); None in a
                language model
            summary: s̃_t, (B, T, summary_dim)

        Returns:
            (B, T, e)
        """
        output = self.state_proj(states) + self.word_proj(words)
        if context is not None:
            output = output + context
        if self.summary_proj is not None:
            output = output + self.summary_proj(summary)
        return torch.tanh(output)
