"""Attention over earlier decoder states: the two comparison models of section 5.

Miculicich Werlen et al. 2018: the memory RNN (after Cheng et al. 2016) and the self-attentive RNN
(after Daniluk et al. 2016). Shapes: R rows, t states so far, d state width, A attention width.
State s_i is numbered by the word that it predicts, and its weight is recorded at that word.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .core.additive_attention import additive_scores, causal_additive_attention
from .core.attention import softmax
from .core.initial_weights import init_linear
from .core.recording import Recordable
from .core.session import Session, Stateful, append_step


class StateSummary(Recordable, Stateful):
    """Self-attentive RNN: ``s̃_t = Σ_{i<t} α_i^t s_i``, scores ``a(s_i, s_t)`` (eqs 19-21).

    It enters only the readout, so a whole sequence is summarised after the recurrence. s̃_1 = 0 is
    an empty sum, but it is computed: torch's DistributedDataParallel waits for the gradient of
    every parameter, even if all targets have one token.

    Args:
        state_dim: width d of the states
        attention_dim: hidden width A of the scores
    """

    def __init__(self, *, state_dim: int, attention_dim: int) -> None:
        super().__init__()
        self.key_proj = init_linear(nn.Linear(state_dim, attention_dim, bias=False))
        self.query_proj = init_linear(nn.Linear(state_dim, attention_dim))
        self.score = init_linear(nn.Linear(attention_dim, 1, bias=False))

    def forward(self, states: Tensor, *, session: Session | None = None) -> Tensor:
        """
        Args:
            states: (B, T, d); when decoding the new one, T = 1
            session: the decoding session, or None

        Returns:
            s̃, (B, T, d); records ``previous_words`` (B, T, T)
        """
        keys = self.key_proj(states)
        if session is None:
            summaries = self._attend(states[:, 1:], keys[:, :-1], states[:, :-1], empty_rows=1)
            return F.pad(summaries, (0, 0, 1, 0))  # s̃_1 = 0
        slot = self.slot(session)
        earlier = (slot["keys"], slot["states"]) if slot else (keys[:, :0], states[:, :0])
        append_step(slot, keys=keys, states=states)
        return self._attend(states, *earlier, empty_rows=0)

    def _attend(self, states: Tensor, keys: Tensor, earlier: Tensor, *, empty_rows: int) -> Tensor:
        summaries, weights = causal_additive_attention(
            self.query_proj(states),  # Eq. (21)
            keys,
            earlier,
            self.score.weight[0],
            need_weights=self.wants("previous_words"),
        )
        if weights is not None:
            self.record(previous_words=F.pad(weights, (1, 0, empty_rows, 0)))
        return summaries


class StateMemory(Recordable, Stateful):
    """Memory RNN: ``s̃_t = Σ_{i<t} α_i^t s_i``, scores ``vᵀ tanh(W_s s_i + y_{t-1} + W_m s̃_{t-1})``.

    Eqs 15-17; s̃_t replaces s_{t-1} in the recurrence (eq. 14). To match the published parameter
    count, the word is added without a matrix, and the scores are as wide as the words.

    Args:
        state_dim: width d of the states
        embed_dim: width e of the words
    """

    def __init__(self, *, state_dim: int, embed_dim: int) -> None:
        super().__init__()
        self.key_proj = init_linear(nn.Linear(state_dim, embed_dim, bias=False))
        self.summary_proj = init_linear(nn.Linear(state_dim, embed_dim, bias=False))
        self.score = init_linear(nn.Linear(embed_dim, 1, bias=False))

    def open(self, session: Session | None) -> OpenMemory:
        """Starts reading and writing step by step, or continues the `session`."""
        return OpenMemory(self, {} if session is None else self.slot(session))

    def forward(
        self, word: Tensor, previous: Tensor, keys: Tensor, states: Tensor
    ) -> tuple[Tensor, Tensor]:
        """
        Args:
            word: y_{t-1}, (R, e)
            previous: s̃_{t-1}, (R, d)
            keys: `key_proj` of the states, (R, t - 1, e)
            states: s_1 … s_{t-1}, (R, t - 1, d)

        Returns:
            s̃_t (R, d), and the weights (R, t - 1)
        """
        query = (word + self.summary_proj(previous))[:, None]  # (R, 1, e)
        scores = additive_scores(query, keys, self.score.weight[0])  # Eq. (17), (R, 1, t-1)
        weights = softmax(scores, states.dtype)  # Eq. (16)
        return (weights @ states).squeeze(1), weights.squeeze(1)  # Eq. (15)


class OpenMemory:
    """Holds the states that a :class:`StateMemory` has seen in one sequence."""

    def __init__(self, memory: StateMemory, slot: dict[str, Tensor]) -> None:
        self.memory = memory
        self.slot = slot
        # growing lists: stacked when read, never copied when written
        self.states = list(slot["states"].unbind(dim=1)) if slot else []
        self.keys = list(slot["keys"].unbind(dim=1)) if slot else []
        self.weights: list[Tensor] = []

    def read(self, word: Tensor, last: Tensor) -> Tensor:
        """Returns s̃_t (R, d), given y_{t-1} (R, e) and s_{t-1} (R, d).

        s̃_1 = s_0, which is not stored. The empty sum is added to it, so that every parameter has a
        gradient, as in :class:`StateSummary`.
        """
        if self.states:
            states, keys = torch.stack(self.states, dim=1), torch.stack(self.keys, dim=1)
            summary, weights = self.memory(word, self.slot["summary"], keys, states)
        else:
            states = last[:, None][:, :0]  # (R, 0, d)
            empty_sum, weights = self.memory(word, last, self.memory.key_proj(states), states)
            summary = last + empty_sum
        if self.memory.wants("previous_words"):
            self.weights.append(F.pad(weights, (1, 0)))  # from state to word that it predicts
        self.slot["summary"] = summary
        return self.slot["summary"]

    def write(self, state: Tensor) -> None:
        """Appends s_t (R, d)."""
        self.states.append(state)
        self.keys.append(self.memory.key_proj(state))

    def close(self) -> None:
        """Stores the tensors for the next call of a decoding session, and records the weights."""
        self.slot["states"] = torch.stack(self.states, dim=1)
        self.slot["keys"] = torch.stack(self.keys, dim=1)
        if self.weights:
            width = self.weights[-1].size(1)
            rows = [F.pad(row, (0, width - row.size(1))) for row in self.weights]
            self.memory.record(previous_words=torch.stack(rows, dim=1))
