"""Cross aggregation: adds information from other heads and earlier positions to encoder logits.

J. Cao, H. Zhao, K. Yu, "Cross Aggregation of Multi-Head Attention for Neural Machine Translation",
NLPCC 2019.

Shapes: B sequences, T positions, C model width, H heads, K = C / H; S = T keys.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint as checkpointed

from .choices import HEAD_WEIGHTS, INITS, ROUTINGS
from .core.attention import attention_logits
from .core.flow import Flow
from .core.self_attention import SelfAttention
from .routing import route_heads, route_positions


class Aggregation(NamedTuple):
    """Holds the result of :meth:`CrossAggregationSelfAttention.aggregate`; None if not routed."""

    logits: Tensor
    """(B, H, T, S) Ê = E + Ω↕ + Ω↔, float32 at least, not masked"""
    added_norm: Tensor | None = None
    """(B, H, T) norm of the added logits Ω↕ + Ω↔"""
    vertical_norm: Tensor | None = None
    """(B, H, T) norm of Ω↕ alone"""
    horizontal_norm: Tensor | None = None
    """(B, H, T) norm of Ω↔ alone"""
    head_weights: Tensor | None = None
    """(B, H) Λ"""
    vertical: Tensor | None = None
    """(B, H, T) coefficients C_{h→l}"""
    horizontal: Tensor | None = None
    """(B, H, T, T) coefficients C_{t→h} of position l (rows)"""


class CrossAggregationSelfAttention(SelfAttention):
    """Multi-head self-attention of an encoder whose logits are aggregated by routing (Eq. 9).

        Ê = E + Ω↕ + Ω↔,  then softmax and values as usual

    where:
        E: (B, H, T, S) the logits, scaled by √(C / H)
        Ω↔: horizontal, what head h says at the positions up to this one                   (14)
        Ω↕: vertical, Λ_h Ω̃↕: what all heads say at this position                      (11, 12)
        Λ: softmax(W [Σ_l B_{1→l}, …, Σ_l B_{H→l}]) over the heads; `head_proj` is W       (13)

    E is what the positions make it: of rotated queries and keys, or with the relative term.

    Votes are zero at padded keys and queries, so padding changes neither norms nor agreement. The
    routing runs in float32 under any training precision; gradients flow through the coefficients.

    Args:
        embed_dim: model width C
        num_heads: heads H; must divide C
        routing: of the routing, "horizontal", "vertical" or "both"
        init: "zero", or "self": horizontal routing starts at the logits (Eq. 15)
        iterations: T ≥ 0; 0 is plain self-attention
        head_weights: what Λ sees of B: its "sum" over positions (the paper's Eq. 13) or "mean"
            over real positions; see `_head_weights` for the reason of the default
        checkpoint: compute the routing again in the backward pass instead of keeping its tensors
        dropout: dropout of the attention weights
        bias: whether the input and output projections have biases

    Raises:
        ValueError: unknown `routing`, `init` or `head_weights`; negative `iterations`; `init`
            "self" without horizontal routing
    """

    def __init__(
        self,
        *,
        embed_dim: int,
        num_heads: int,
        routing: str = "both",
        init: str = "zero",
        iterations: int = 3,
        head_weights: str = "mean",
        checkpoint: bool = False,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__(embed_dim=embed_dim, num_heads=num_heads, dropout=dropout, bias=bias)
        for name, value, choices in (
            ("routing", routing, ROUTINGS),
            ("init", init, INITS),
            ("head_weights", head_weights, HEAD_WEIGHTS),
        ):
            if value not in choices:
                raise ValueError(f"{name} is {value!r}; choose from {', '.join(choices)}")
        if iterations < 0:
            raise ValueError(f"iterations is {iterations}; it must be 0 or more")
        if init == "self" and routing == "vertical":
            raise ValueError("init 'self' starts horizontal routing; routing is 'vertical'")
        self.init = init
        self.iterations = iterations
        self.head_weights = head_weights
        self.checkpoint = checkpoint
        self.horizontal = iterations > 0 and routing != "vertical"
        self.vertical = iterations > 0 and routing != "horizontal"
        if self.vertical:
            self.head_proj = nn.Linear(num_heads, num_heads, bias=False)

    reads_weights = ("head_proj",)

    @property
    def needs_logits(self) -> bool:
        return self.iterations > 0 or super().needs_logits

    def logits(self, query: Tensor, key: Tensor, flow: Flow) -> Tensor:
        """Returns Ê (B, H, T, S), -inf where attention is not allowed.

        Records what was routed of :class:`Aggregation`: ``added_norm``, ``vertical_norm``,
        ``horizontal_norm``, ``head_weights``, ``vertical``, ``horizontal``; the base records
        ``weights`` (B, H, T, S).

        Raises:
            ValueError: used in a decoder (causal mask or decoding session)
        """
        if flow.mask.causal or flow.state is not None:
            raise ValueError(
                "cross aggregation routes over whole sentences: it is for encoders, not decoders"
            )
        if self.iterations == 0:
            return super().logits(query, key, flow)
        added = self.position_scores(query, key, flow)
        done = self._aggregated(query, key, flow.mask.padding, added)
        self.record(
            **{
                name: part
                for name, part in done._asdict().items()
                if part is not None and name != "logits"
            }
        )
        allowed = flow.mask.allowed
        return done.logits if allowed is None else done.logits.masked_fill(~allowed, -math.inf)

    def _aggregated(
        self, query: Tensor, key: Tensor, padding: Tensor | None, added: Tensor | float
    ) -> Aggregation:
        """Returns :meth:`aggregate`; with `checkpoint` once more in the backward pass."""
        if not (self.checkpoint and torch.is_grad_enabled()):
            return self.aggregate(query, key, padding, added)
        done: Aggregation = checkpointed(
            self.aggregate,
            *(query, key, padding, added),
            use_reentrant=False,
            preserve_rng_state=False,
        )
        return done

    def aggregate(
        self, query: Tensor, key: Tensor, padding: Tensor | None, added: Tensor | float = 0.0
    ) -> Aggregation:
        """Returns the logits and what the routing adds to them, in float32 or better.

        Args:
            query: (B, H, T, K)
            key: (B, H, S, K), S = T
            padding: (B, T) bool, True at padding, or None
            added: what relative positions add to q kᵀ

        Raises:
            ValueError: queries and keys differ in number
        """
        if query.size(-2) != key.size(-2):
            raise ValueError(
                "cross aggregation is for self-attention, with as many keys as queries; "
                f"there are {query.size(-2)} queries and {key.size(-2)} keys"
            )
        dtype = torch.promote_types(query.dtype, torch.float32)
        with torch.autocast(query.device.type, enabled=False):
            logits = attention_logits(query.to(dtype), key.to(dtype), None, False, added)
            return self._aggregate(logits, padding)

    def _aggregate(self, logits: Tensor, padding: Tensor | None) -> Aggregation:
        votes = logits  # (B, H, T, S)
        if padding is not None:
            pair = padding[:, None, :, None] | padding[:, None, None, :]  # (B, 1, T, S)
            votes = logits.masked_fill(pair, 0.0)
        up: Tensor | None = None  # Ω↕
        across: Tensor | None = None  # Ω↔
        head_weights = vertical = horizontal = None
        if self.vertical:
            capsules, vertical, voting = route_heads(votes, self.iterations)
            head_weights = self._head_weights(voting.squeeze(-1), padding)  # (B, H)
            up = head_weights[:, :, None, None] * capsules[:, None]  # Eq. (12), (B, H, T, S)
            vertical = vertical.squeeze(-1)
        if self.horizontal:
            across, horizontal = route_positions(
                votes, self.iterations, padding, from_votes=self.init == "self"
            )
        added = reduce(torch.add, [part for part in (up, across) if part is not None])  # in Eq. (9)
        return Aggregation(
            logits + added,
            added_norm=self._norm("added_norm", added),
            vertical_norm=self._norm("vertical_norm", up),
            horizontal_norm=self._norm("horizontal_norm", across),
            head_weights=head_weights,
            vertical=vertical,
            horizontal=horizontal,
        )

    def _norm(self, name: str, part: Tensor | None) -> Tensor | None:
        """Returns |Ω| (B, H, T), or None when it is not recorded."""
        if part is None or not self.wants(name):
            return None
        norm: Tensor = torch.linalg.vector_norm(part.detach(), dim=-1)
        return norm

    def _head_weights(self, voting: Tensor, padding: Tensor | None) -> Tensor:
        """Returns Λ (B, H) of voting weights (B, H, T), which are zero at padding. Eq. (13)

        The mean is the default because the paper's sum saturates the softmax: its gradient, and
        with it W's, vanishes. Entropy of Λ (nats) at initialisation, widths 256 and 512, at lengths
        10, 30, 100:

            heads (max)   mean              sum
            4 (1.39)      1.28 0.85 0.59    0.35 0.03 0.01
            8 (2.08)      2.04 1.80 1.15    1.00 0.06 0.00

        After training (Multi30k, 4 heads, width 128) the entropy of the mean has also fallen, to
        0.07 0.14 0.00 in the first layer and 0.01 0.00 0.00 in the last: each layer has learnt
        which head to vote for. The mean leaves it time to learn this.
        """
        total = voting.sum(dim=-1)  # (B, H)
        if self.head_weights == "mean":
            if padding is None:
                total = total / voting.size(-1)
            else:
                total = total / (~padding).sum(dim=-1, keepdim=True).clamp(min=1)
        return torch.softmax(F.linear(total, self.head_proj.weight.to(total.dtype)), dim=-1)
