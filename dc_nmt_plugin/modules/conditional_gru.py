"""The conditional GRU of the dl4mt tutorial: two GRU transitions with attention in between.

Equations: Miculicich Werlen et al. 2018, sections 3 and 5.1. Shapes: S sentences of M source
positions, R = S × beam decoder rows, T target positions, e embedding width, d state width, A
attention width, C width of the source annotations.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .core.additive_attention import additive_scores
from .core.attention import softmax
from .core.initial_weights import init_linear, init_square_blocks_
from .core.recording import Recordable
from .core.session import Session, Stateful
from .core.source import Source
from .state_attention import StateMemory


def gru_update(inputs: Tensor, recurrent: Tensor, state: Tensor) -> Tensor:
    """Returns the state ``u s + (1 - u) tanh(W x + r U s)`` (R, d) after one GRU transition.

    Args:
        inputs: W x (+ bias), (R, 3d), in the order reset r, update u, candidate
        recurrent: U s (+ bias), (R, 3d); r acts on its candidate part
        state: s, (R, d)
    """
    width = state.size(1)
    gates = (inputs[:, : 2 * width] + recurrent[:, : 2 * width]).sigmoid_()
    reset, update = gates.chunk(2, dim=1)
    candidate = torch.addcmul(inputs[:, 2 * width :], reset, recurrent[:, 2 * width :]).tanh_()
    return torch.lerp(candidate, state, update)


class ConditionalGRU(Recordable, Stateful):
    """``s'_t = GRU_1(s_{t-1}, y_{t-1}); c_t = attention(s'_t, h); s_t = GRU_2(s'_t, c_t)``.

    where:
        y_{t-1}: embedding of the previous word, width e
        h_i: source annotations, width C
        c_t = Σ_i α_i h_i, α = softmax_i(vᵀ tanh(W_a s'_t + U_a h_i))  (eqs 5-7)

    The loop over positions contains only what depends on the last state. Products with words are
    computed before it. A product with c_t is ``W c_t = Σ_i α_i (W h_i)``, so products with the
    annotations are computed once for each sentence, and c_t itself is never computed.

    Args:
        embed_dim: width e of the words
        state_dim: width d of the states
        source_dim: width C of the annotations
        attention_dim: hidden width A of the attention
        context_dim: width of the projected context W_c c_t that the readout gets
        memory: attention over earlier states, for the memory RNN; None for the plain recurrence
    """

    def __init__(
        self,
        *,
        embed_dim: int,
        state_dim: int,
        source_dim: int,
        attention_dim: int,
        context_dim: int,
        memory: StateMemory | None = None,
    ) -> None:
        super().__init__()
        self.state_dim = state_dim
        self.attention_dim = attention_dim
        self.init_proj = init_linear(nn.Linear(source_dim, state_dim))
        # GRU_1: all biases outside the reset product; GRU_2: inside (dl4mt's cells differ there)
        self.word_proj = init_linear(nn.Linear(embed_dim, 3 * state_dim))
        self.recurrent_proj1 = init_linear(nn.Linear(state_dim, 3 * state_dim, bias=False))
        init_square_blocks_(self.recurrent_proj1.weight.data)
        # [W_a; U_2]: the attention's query and GRU_2's recurrent product
        self.recurrent_proj2 = init_linear(nn.Linear(state_dim, attention_dim + 3 * state_dim))
        init_square_blocks_(self.recurrent_proj2.weight.data[attention_dim:])
        self.key_proj = init_linear(nn.Linear(source_dim, attention_dim, bias=False))
        if source_dim == attention_dim:
            init_square_blocks_(self.key_proj.weight.data)
        # [W_2; W_c]: GRU_2's input product and the readout's context
        self.value_proj = init_linear(
            nn.Linear(source_dim, 3 * state_dim + context_dim, bias=False)
        )
        self.score = init_linear(nn.Linear(attention_dim, 1, bias=False))
        self.memory = memory

    def project_source(self, source: Source) -> tuple[Tensor, ...]:
        """Returns keys (S, M, A), GRU_2's values (S, M, 3d), the readout's values
        (S, M, context_dim) and the initial state (S, d)."""
        (annotations,) = source.features
        values, contexts = self.value_proj(annotations).split(
            [3 * self.state_dim, self.value_proj.out_features - 3 * self.state_dim], dim=-1
        )
        initial = torch.tanh(self.init_proj(mean_annotation(source)))
        return self.key_proj(annotations), values, contexts, initial

    def forward(
        self, words: Tensor, source: Source, *, session: Session | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """
        Args:
            words: y_0 … y_{T-1}, (R, T, e); when decoding the last one, T = 1
            source: annotations, one row a sentence
            session: the decoding session, or None

        Returns:
            states s_t (R, T, d), projected contexts W_c c_t (R, T, context_dim) and attention
            weights (R, T, M); records the latter as ``weights`` (R, 1, T, M), one head
        """
        keys, values, contexts, initial = source.cached(
            self, self.project_source, keep=session is not None
        )
        slot = {} if session is None else self.slot(session)
        # s_{t-1}, (R, d)
        last = slot["state"] if slot else initial.repeat_interleave(source.beam, dim=0)
        memory = None if self.memory is None else self.memory.open(session)
        inputs = self.word_proj(words)  # (R, T, 3d)
        states: list[Tensor] = []
        alignments: list[Tensor] = []
        for word, step_inputs in zip(words.unbind(dim=1), inputs.unbind(dim=1), strict=True):
            if memory is not None:
                last = memory.read(word, last)  # Eq. (14)
            between = gru_update(step_inputs, self.recurrent_proj1(last), last)  # s'_t, (R, d)
            projected = self.recurrent_proj2(between)
            query, recurrent = projected.split([self.attention_dim, 3 * self.state_dim], dim=1)
            weights = self._attend(query, keys, source)  # (S, beam, M)
            context_inputs = (weights @ values).view_as(recurrent)  # W_2 c_t, Eq. (5)
            last = gru_update(context_inputs, recurrent, between)  # s_t, Eq. (4)
            if memory is not None:
                memory.write(last)
            states.append(last)
            alignments.append(weights.flatten(0, 1))
        slot["state"] = last
        if memory is not None:
            memory.close()
        alignment = torch.stack(alignments, dim=1)  # (R, T, M)
        self.record(weights=alignment[:, None])
        by_sentence = alignment.view(source.sentences, -1, alignment.size(2))  # (S, beam * T, M)
        context = (by_sentence @ contexts).view(*alignment.shape[:2], -1)
        return torch.stack(states, dim=1), context, alignment

    def _attend(self, query: Tensor, keys: Tensor, source: Source) -> Tensor:
        """Returns the attention weights (S, beam, M) of queries (R, A); eqs 6 and 7."""
        queries = query.view(source.sentences, source.beam, -1)  # beams are further queries
        scores = additive_scores(queries, keys, self.score.weight[0])
        if source.padding is not None:
            scores = scores.masked_fill(source.padding[:, None], -math.inf)
        return softmax(scores, query.dtype)


def mean_annotation(source: Source) -> Tensor:
    """Returns the mean of the source annotations over real positions, (S, C)."""
    (annotations,) = source.features
    if source.padding is None:
        return annotations.mean(dim=1)
    real = (~source.padding)[:, :, None].to(annotations.dtype)  # (S, M, 1)
    return (annotations * real).sum(dim=1) / real.sum(dim=1)
