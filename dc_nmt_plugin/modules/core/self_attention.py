"""Self-attention: the base of every kind (axis A), and the standard kind.

Shapes: B sequences, T positions, C model width, H heads, K = C / H width of a head; R hypotheses
when decoding.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..fast.beams import Beams
from ..fast.dropout import dropout as drop
from .attention import attend_from_few, attention_logits, merge_heads, softmax, split_heads
from .flow import Flow
from .initial_weights import input_projection, output_projection
from .positions import Positions
from .recording import Recordable
from .state import State, Stateful


class MultiHeadSelfAttention(Recordable, Stateful):
    """Base of all kinds: heads, cache of the decoding session, attention, recording.

    A kind is the sublayer without its residual connection. It computes its projections, and
    :meth:`forward` defines what attends to what.

    Args:
        num_heads: heads H; must divide C
        dropout: dropout of the attention weights
    """

    def __init__(self, *, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.dropout = dropout
        self.positions: Positions | None = None  # given by the builder, to any kind

    def forward(self, x: Tensor, flow: Flow) -> Tensor:
        """
        Args:
            x: (B, T, C) the layer's input; when decoding (``flow.state``) the new position, T = 1
            flow: everything else that the pass through the stack offers

        Returns:
            (B, T, C)
        """
        raise NotImplementedError

    def heads(self, projected: Tensor, parts: int) -> list[Tensor]:
        """Splits (B, T, parts · C) into `parts` tensors (B, H, T, K)."""
        return [split_heads(part, self.num_heads) for part in projected.chunk(parts, dim=-1)]

    def with_past(self, flow: Flow, *new: Tensor) -> list[Tensor]:
        """Returns keys and values of all steps so far; without a decoding session, `new` itself.

        In beam search (:class:`~..fast.beams.Beams`) they are written into space that is allocated
        ahead, and never reordered. In other sessions a reordering waits for the next step, so that
        reordering and appending are one copy.

        Args:
            flow: with the decoding session, if any
            new: (R, H, 1, K) each, in the same order at every step

        Returns:
            (R, H, t, K) each; in beam search (S, H, N, K), the columns of all hypotheses
        """
        if flow.state is None:
            return list(new)
        slot = self.slot(flow.state)
        if flow.beams is not None:
            for number, part in enumerate(new):
                slot[str(number)] = flow.beams.store(slot.get(str(number)), part)
            return [flow.beams.used(past) for past in slot.values()]
        stacked = torch.cat(new, dim=1)  # (R, n · H, 1, K)
        if "heads" in slot:
            stacked = _append(slot["heads"], slot.pop("order", None), stacked)
        slot["heads"] = stacked
        return list(stacked.chunk(len(new), dim=1))

    def reorder_incremental_state(self, incremental_state: State, new_order: Tensor) -> None:
        """See :class:`~.state.Stateful`; done by the next :meth:`with_past`."""
        slot = self.slot(incremental_state)
        if "heads" in slot:
            order = slot.get("order")
            slot["order"] = new_order if order is None else order.index_select(0, new_order)

    def reorder_hypotheses(self, state: State, rows: Tensor, sentences: Tensor | None) -> None:
        """See :class:`~.state.Stateful`; :class:`~.beams.Beams` says what each hypothesis sees."""

    def placed(self, flow: Flow, *parts: Tensor) -> list[Tensor]:
        """Returns queries and keys (B, H, T, K) with their positions in them, if they are rotary.

        A key is placed before :meth:`with_past` keeps it, and never again.
        """
        return [
            part if self.positions is None else self.positions.place(part, flow) for part in parts
        ]

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        flow: Flow,
        *,
        record: str = "weights",
    ) -> Tensor:
        """Returns softmax(q kᵀ / √K) v, with the outputs of the heads concatenated.

        Args:
            query: (B, H, T, K)
            key, value: (B, H, S, K); S = T unless decoding
            flow: padding and causality of the positions, and the decoding session
            record: name under which the weights (B, H, T, S) are recorded

        Returns:
            (B, T, C)
        """
        dropout = self.dropout if self.training else 0.0
        if flow.beams is not None:
            return self._attend_to_columns(query, key, value, flow, flow.beams, record)
        if not (self.needs_logits or self.wants(record)):
            mask, causal = flow.mask.allowed, flow.is_causal
            fused = F.scaled_dot_product_attention(
                query, key, value, attn_mask=mask, is_causal=causal, dropout_p=dropout
            )
            return merge_heads(fused)
        weights = softmax(self.logits(query, key, flow), value.dtype)
        self.record(**{record: weights})
        weights = drop(weights, dropout, self.training)
        output = weights @ value  # (B, H, T, S) @ (B, H, S, K)
        if self.positions is not None:
            output = output + self.positions.values(weights, flow)
        return merge_heads(output)

    def _attend_to_columns(
        self, query: Tensor, key: Tensor, value: Tensor, flow: Flow, step: Beams, record: str
    ) -> Tensor:
        """Returns :meth:`attend` of one step of beam search, (R, 1, C)."""
        added = None
        if self.positions is not None and self.positions.in_logits:
            scores = self.positions.scores(query, step.steps, flow)
            added = step.by_column(scores) if isinstance(scores, Tensor) else None
        output, weights = attend_from_few(
            step.queries(query),
            key,
            value,
            step.seen,
            added=added,
            dropout=self.dropout if self.training else 0.0,
            need_weights=self.needs_logits or self.wants(record),
        )
        output = step.rows(output)
        if weights is not None:
            weights = step.by_position(weights)
            self.record(**{record: weights})
            if self.positions is not None:
                output = output + self.positions.values(weights, flow)
        return merge_heads(output)

    @property
    def needs_logits(self) -> bool:
        """Returns whether attention is more than softmax(q kᵀ / √K) v, and cannot be fused."""
        return self.positions is not None and self.positions.in_logits

    def logits(self, query: Tensor, key: Tensor, flow: Flow) -> Tensor:
        """Returns the logits (B, H, T, S) for :meth:`attend`, -inf where it is not allowed."""
        added = self.position_scores(query, key, flow)
        return attention_logits(query, key, flow.mask.allowed, flow.is_causal, added)

    def position_scores(self, query: Tensor, key: Tensor, flow: Flow) -> Tensor | float:
        """Returns what positions add to q kᵀ (B, H, T, S)."""
        return 0.0 if self.positions is None else self.positions.scores(query, key.size(-2), flow)


def _append(past: Tensor, order: Tensor | None, new: Tensor) -> Tensor:
    """Appends new (R, h, 1, K) to rows `order` (all if None) of past (R', h, t, K)."""
    if order is None:
        return torch.cat([past, new], dim=2)
    if torch.is_grad_enabled():  # which writing into a part of a tensor does not allow
        return torch.cat([past.index_select(0, order), new], dim=2)
    rows, heads, _, width = new.shape
    steps = past.size(2)
    both = past.new_empty(rows, heads, steps + 1, width)
    torch.index_select(past, 0, order, out=both[:, :, :steps])
    both[:, :, steps:] = new
    return both


class SelfAttention(MultiHeadSelfAttention):
    """Standard multi-head self-attention, and the base of kinds with its projections.

    The three input projections are one matrix product. `in_proj` stacks [W_q; W_k; W_v].

    Args:
        embed_dim: model width C
        num_heads: heads H; must divide C
        dropout: dropout of the attention weights
        bias: whether the projections have biases
    """

    def __init__(
        self, *, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True
    ) -> None:
        super().__init__(num_heads=num_heads, dropout=dropout)
        self.in_proj = input_projection(nn.Linear(embed_dim, 3 * embed_dim, bias=bias), blocks=3)
        self.out_proj = output_projection(nn.Linear(embed_dim, embed_dim, bias=bias))

    def forward(self, x: Tensor, flow: Flow) -> Tensor:
        """See :class:`MultiHeadSelfAttention`; records ``weights`` (B, H, T, S)."""
        query, key, value = self.project(x, flow)
        query, key = self.placed(flow, query, key)
        key, value = self.with_past(flow, key, value)
        output: Tensor = self.out_proj(self.attend(query, key, value, flow))
        return output  # (B, T, C)

    def project(self, x: Tensor, flow: Flow) -> list[Tensor]:
        """Returns queries, keys and values of x (B, T, C), each (B, H, T, K)."""
        return self.heads(self.in_proj(x), 3)
