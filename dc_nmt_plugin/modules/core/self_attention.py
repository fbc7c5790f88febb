"""Self-attention: the base of every kind (axis A), and the standard kind.

Shapes: B sequences, T positions, C model width, H heads, K = C / H width of a head; R hypotheses
when decoding.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .attention import (
    attention_logits,
    check_heads,
    masked,
    merge_heads,
    softmax,
    split_heads,
)
from .dropout import dropout as drop
from .flow import Flow
from .initial_weights import input_projection, output_projection
from .positions import Positions
from .recording import Recordable
from .session import Stateful


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

    def forward(self, x: Tensor, flow: Flow | Tensor | None = None) -> Tensor:
        """
        Args:
            x: (B, T, C) the layer's input; when decoding (``flow.session``) the new position, T = 1
            flow: everything else that the pass through the stack offers; of x alone, its padding
                (B, T), True at padding; or None without padding. Alone, it is not causal

        Returns:
            (B, T, C)
        """
        raise NotImplementedError

    def heads(self, projected: Tensor, parts: int) -> list[Tensor]:
        """Splits (B, T, parts · C) into `parts` tensors (B, H, T, K)."""
        return [split_heads(part, self.num_heads) for part in projected.chunk(parts, dim=-1)]

    def with_past(self, flow: Flow, *new: Tensor, name: str = "past") -> list[Tensor]:
        """Returns keys and values of all steps so far; without a decoding session, `new` itself.

        Args:
            flow: with the decoding session, if any
            new: (R, H, 1, K) each, in the same order at every step
            name: of what is kept, where a module keeps several

        Returns:
            (R, H, t, K) each
        """
        if flow.session is None:
            return list(new)
        slot = self.slot(flow.session)
        stacked = torch.cat(new, dim=1)  # (R, n · H, 1, K)
        if name in slot:
            stacked = torch.cat([slot[name], stacked], dim=2)
        slot[name] = stacked
        return list(stacked.chunk(len(new), dim=1))

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

        Rotary positions rotate queries and keys here. When decoding, keys and values of the earlier
        steps are kept here, so a key is rotated once.

        Args:
            query, key, value: (B, H, T, K), of the positions of the layer's input
            flow: padding and causality of the positions, and the decoding session
            record: name of this attention in its module, and of its weights (B, H, T, S) in records

        Returns:
            (B, T, C)

        Raises:
            ValueError: queries and keys differ in number
        """
        if query.size(-2) != key.size(-2):
            raise ValueError(
                f"{query.size(-2)} queries and {key.size(-2)} keys: give attend() the keys of the "
                "layer's input alone; it keeps those of earlier steps itself"
            )
        if self.positions is not None:
            query, key = (self.positions.encode(x, flow) for x in (query, key))
        key, value = self.with_past(flow, key, value, name=record)
        dropout = self.dropout if self.training else 0.0
        mask = flow.added_mask(query.dtype)
        if not (self.needs_logits or self.wants(record)):
            fused = F.scaled_dot_product_attention(
                query, key, value, attn_mask=mask, is_causal=flow.is_causal, dropout_p=dropout
            )
            return merge_heads(fused)
        logits = masked(self.logits(query, key, flow), mask, flow.is_causal)
        weights = self.weights(softmax(logits, value.dtype), flow)
        self.record(**{record: weights})
        weights = drop(weights, dropout, self.training)
        output = weights @ value  # (B, H, T, S) @ (B, H, S, K)
        if self.positions is not None:
            output = output + self.positions.values(weights, flow)
        return merge_heads(output)

    def logits(self, query: Tensor, key: Tensor, flow: Flow) -> Tensor:
        """Returns the attention logits q kᵀ / √K, with what positions add.

        The hook of kinds that change them: training, decoding, recording and checkpointed
        activations then all use the kind's own. Masks are applied to the result.

        Args:
            query: (B, H, T, K), of the positions ``flow.first_position`` …
            key: (B, H, S, K), of the positions 0 …; S = T, or when decoding T = 1 and S the number
                of steps

        Returns:
            (B, H, T, S)
        """
        added = self.positions.scores(query, key.size(-2), flow) if self.positions else 0.0
        return attention_logits(query, key, added)

    def weights(self, weights: Tensor, flow: Flow) -> Tensor:
        """Returns the attention weights after the softmax as they are.

        The hook of kinds that change them, with the same promise as :meth:`logits`. They are 0
        where a mask is; dropout follows. The changed weights are what is recorded.

        Args:
            weights: (B, H, T, S), of the queries and keys of :meth:`logits`

        Returns:
            (B, H, T, S)
        """
        return weights

    @property
    def needs_logits(self) -> bool:
        """Returns whether attention is more than softmax(q kᵀ / √K) v, and cannot be fused."""
        # a kind that replaces a hook, as a method or on the object, need not declare it here
        for hook in ("logits", "weights"):
            replaced = getattr(getattr(self, hook), "__func__", None)
            if replaced is not getattr(MultiHeadSelfAttention, hook):
                return True
        return self.positions is not None and self.positions.in_logits


class SelfAttention(MultiHeadSelfAttention):
    """Self-attention of Vaswani et al. 2017, 3.2.2, and the base of kinds with its projections.

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
        check_heads(embed_dim, num_heads)
        self.in_proj = input_projection(nn.Linear(embed_dim, 3 * embed_dim, bias=bias), blocks=3)
        self.out_proj = output_projection(nn.Linear(embed_dim, embed_dim, bias=bias))

    def forward(self, x: Tensor, flow: Flow | Tensor | None = None) -> Tensor:
        """See :class:`MultiHeadSelfAttention`; records ``weights`` (B, H, T, S)."""
        flow = Flow.of(x, flow)
        query, key, value = self.project(x, flow)
        output: Tensor = self.out_proj(self.attend(query, key, value, flow))
        return output  # (B, T, C)

    def project(self, x: Tensor, flow: Flow) -> list[Tensor]:
        """Returns queries, keys and values of x (B, T, C), each (B, H, T, K)."""
        return self.heads(self.in_proj(x), 3)
