"""Residual connections to all earlier target words (Miculicich Werlen et al. 2018, section 4).

The readout of a recurrent decoder sees its state and a summary d_t of the words so far (eq. 8),
instead of only the last word. Shapes: B sequences, T positions, e embedding width,
d state width; position t reads the words up to itself, including the begin token y_0.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .core.additive_attention import causal_additive_attention
from .core.attention import softmax
from .core.initial_weights import init_linear, init_square_blocks_
from .core.masks import later_keys
from .core.recording import Recordable
from .core.session import Session, Stateful, append_step


class ResidualContext(Recordable, Stateful):
    """Base of all summaries of the words so far; returns the last word, the usual baseline.

    Subclasses record ``previous_words`` (B, T, T), the weight of word i at position t.
    """

    def forward(self, words: Tensor, states: Tensor, *, session: Session | None = None) -> Tensor:
        """
        Args:
            words: (B, T, e) embeddings of the decoder's inputs; when decoding the new one, T = 1
            states: (B, T, d) the decoder's states at the same positions
            session: the decoding session, or None

        Returns:
            d_t, (B, T, e)
        """
        return words


class BesideLastWord(ResidualContext):
    """``y_{t-1} + d_t``, not in the paper, in which d_t replaces the last word (eq. 8).

    It separates the gain through the summary from the loss of the last word.

    Args:
        summary: computes d_t
    """

    def __init__(self, summary: ResidualContext) -> None:
        super().__init__()
        self.summary = summary

    def forward(self, words: Tensor, states: Tensor, *, session: Session | None = None) -> Tensor:
        """See :class:`ResidualContext`."""
        summary: Tensor = self.summary(words, states, session=session)
        return words + summary


class MeanResidual(ResidualContext):
    """``d_t = 1/t Σ_{i<t} y_i`` (eq. 9, y_0 included), a running mean."""

    def forward(self, words: Tensor, states: Tensor, *, session: Session | None = None) -> Tensor:
        """See :class:`ResidualContext`."""
        # half precision cannot count to 300
        dtype = torch.promote_types(words.dtype, torch.float32)
        total = words.cumsum(dim=1, dtype=dtype)
        seen = torch.arange(1, words.size(1) + 1, device=words.device, dtype=dtype)[:, None]
        if session is not None:
            slot = self.slot(session)
            if slot:
                seen = slot["steps"] + seen  # (R, T, 1)
                total = slot["total"] + total
            slot["steps"] = seen[..., -1:, :].expand(words.size(0), 1, 1)
            slot["total"] = total[:, -1:]
        if self.wants("previous_words"):
            weights = seen.reciprocal().expand(*words.shape[:2], 1)  # 1 / t, of t words
            positions = torch.arange(int(seen.max()), device=words.device)
            self.record(previous_words=weights * (positions < seen))
        return (total / seen).type_as(words)  # Eq. (9)


class ContentResidual(ResidualContext):
    """``d_t = Σ_{i<t} α_i y_i`` with scores ``vᵀ tanh(W_y y_i + b)`` (eqs 10, 11, 13).

    The score of a word does not depend on t.

    Args:
        embed_dim: width e of the words
    """

    def __init__(self, *, embed_dim: int) -> None:
        super().__init__()
        self.word_proj = init_linear(nn.Linear(embed_dim, embed_dim))
        init_square_blocks_(self.word_proj.weight.data)
        self.score = init_linear(nn.Linear(embed_dim, 1, bias=False))

    def forward(self, words: Tensor, states: Tensor, *, session: Session | None = None) -> Tensor:
        """See :class:`ResidualContext`."""
        scores = self.score(torch.tanh(self.word_proj(words))).squeeze(-1)  # Eq. (13), (B, T)
        if session is not None:
            scores, words = append_step(self.slot(session), scores=scores, words=words)
        later = later_keys(states.size(1), scores.size(1), scores.device)
        logits = scores[:, None].masked_fill(later, -math.inf)  # (B, T, S)
        weights = softmax(logits, words.dtype)  # Eq. (11)
        self.record(previous_words=weights)
        return weights @ words  # Eq. (10)


class ContentScopeResidual(ResidualContext):
    """``d_t = Σ_{i<t} α_i^t y_i`` with scores ``vᵀ tanh(W_y y_i + W_s s_t)`` (eqs 10-12).

    Args:
        embed_dim: width e of the words
        state_dim: width d of the decoder's states
    """

    def __init__(self, *, embed_dim: int, state_dim: int) -> None:
        super().__init__()
        self.word_proj = init_linear(nn.Linear(embed_dim, embed_dim))
        init_square_blocks_(self.word_proj.weight.data)
        self.state_proj = init_linear(nn.Linear(state_dim, embed_dim, bias=False))
        self.score = init_linear(nn.Linear(embed_dim, 1, bias=False))

    def forward(self, words: Tensor, states: Tensor, *, session: Session | None = None) -> Tensor:
        """See :class:`ResidualContext`."""
        keys = self.word_proj(words)
        if session is not None:
            keys, words = append_step(self.slot(session), keys=keys, words=words)
        context, weights = causal_additive_attention(
            self.state_proj(states),  # Eq. (12)
            keys,
            words,
            self.score.weight[0],
            need_weights=self.wants("previous_words"),
        )
        if weights is not None:
            self.record(previous_words=weights)
        return context
