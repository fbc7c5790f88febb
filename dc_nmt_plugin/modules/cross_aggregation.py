"""Cross aggregation: adds information from other heads and earlier positions to encoder logits.

J. Cao, H. Zhao, K. Yu, "Cross Aggregation of Multi-Head Attention for Neural Machine Translation",
NLPCC 2019.

Shapes: B sequences, T positions, C model width, H heads, K = C / H; S = T keys.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint as checkpointed

from .core.attention import attention_logits
from .core.flow import Flow
from .core.masks import SequenceMask
from .core.self_attention import SelfAttention
from .mechanisms import CROSS_AGGREGATION
from .routing import route_heads, route_positions


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
        routing: "horizontal", "vertical" or "both"
        init: "zero", or "self": horizontal routing starts at the logits (Eq. 15)
        iterations: at least 0; 0 is plain self-attention
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
        CROSS_AGGREGATION.check(
            routing=routing, init=init, iterations=iterations, head_weights=head_weights
        )
        self.init = init
        self.iterations = iterations
        self.head_weights = head_weights
        self.checkpoint = checkpoint
        self.horizontal = iterations > 0 and routing != "vertical"
        self.vertical = iterations > 0 and routing != "horizontal"
        if self.vertical:
            self.head_proj = nn.Linear(num_heads, num_heads, bias=False)

    def logits(self, query: Tensor, key: Tensor, flow: Flow) -> Tensor:
        """Returns Ê (B, H, T, S).

        Records what :meth:`aggregate` does; the base records ``weights`` (B, H, T, S).

        Raises:
            ValueError: used in a decoder (causal mask or decoding session)
        """
        if flow.mask.causal or flow.session is not None:
            raise ValueError(
                "cross aggregation routes over whole sentences: it is for encoders, not decoders"
            )
        if self.iterations == 0:
            return super().logits(query, key, flow)
        added = self.positions.scores(query, key.size(-2), flow) if self.positions else 0.0
        arguments = (query, key, flow, added)
        if not (self.checkpoint and torch.is_grad_enabled()):
            return self.aggregate(*arguments)
        logits: Tensor = checkpointed(
            self.aggregate, *arguments, use_reentrant=False, preserve_rng_state=False
        )
        return logits

    def aggregate(
        self, query: Tensor, key: Tensor, flow: Flow, added: Tensor | float = 0.0
    ) -> Tensor:
        """Returns Ê = E + Ω↕ + Ω↔ (B, H, T, S), in float32 or better, not masked.

        Records, if they exist, ``vertical_norm``, ``horizontal_norm``, ``added_norm``
        (B, H, T): norms of Ω↕, Ω↔ and their sum; ``head_weights`` Λ (B, H); ``vertical`` C_{h→l}
        (B, H, T); and ``horizontal`` C_{t→h} (B, H, T, T) of position l (rows).

        Args:
            query: (B, H, T, K)
            key: (B, H, S, K), S = T
            flow: padding of the positions
            added: what relative positions add to q kᵀ
        """
        dtype = torch.promote_types(query.dtype, torch.float32)
        device = "cpu" if query.is_meta else query.device.type  # autocast knows no meta
        with torch.autocast(device, enabled=False):
            # contiguous, because the product would copy them again
            query, key = (x.to(dtype, memory_format=torch.contiguous_format) for x in (query, key))
            logits = attention_logits(query, key, added)
            return logits + self._added(logits, flow)

    def _added(self, logits: Tensor, flow: Flow) -> Tensor:
        """Returns what the routing adds to E in Eq. (9), (B, H, T, S)."""
        votes, padding = logits, flow.mask.padding  # (B, H, T, S), (B, T)
        if padding is not None:
            pair = padding[:, None, :, None] | padding[:, None, None, :]  # (B, 1, T, S)
            votes = logits.masked_fill(pair, 0.0)
        added: list[Tensor] = []
        if self.vertical:
            capsules, coefficients, voting = route_heads(votes, self.iterations)
            head_weights = self._head_weights(voting.squeeze(-1), flow)  # (B, H)
            vertical = head_weights[:, :, None, None] * capsules[:, None]  # Ω↕, (12), (B, H, T, S)
            added.append(vertical)
            self.record(head_weights=head_weights, vertical=coefficients.squeeze(-1))
            self._record_norm("vertical_norm", vertical)
        if self.horizontal:
            # position l takes real positions t ≤ l; at padding also itself: no row is empty
            mask = flow.shared(
                ("causal", votes.dtype),
                lambda: SequenceMask.build(padding, causal=True).added(votes.dtype),
            )
            horizontal, coefficients = route_positions(  # Ω↔, Eq. (14)
                votes, self.iterations, mask, from_votes=self.init == "self"
            )
            added.append(horizontal)
            self.record(horizontal=coefficients)
            self._record_norm("horizontal_norm", horizontal)
        total = added[0] if len(added) == 1 else added[0] + added[1]
        self._record_norm("added_norm", total)
        return total

    def _record_norm(self, name: str, part: Tensor) -> None:
        if self.wants(name):
            self.record(**{name: torch.linalg.vector_norm(part.detach(), dim=-1)})  # (B, H, T)

    def _head_weights(self, voting: Tensor, flow: Flow) -> Tensor:
        """Returns Λ (B, H) of voting weights (B, H, T), which are zero at padding. Eq. (13)

        The paper's sum grows with the sentence. It saturates the softmax, so its gradient vanishes,
        and W's with it. The mean is therefore the default (measured in
        docs/papers/cross-aggregation.md).
        """
        voting = voting.transpose(1, 2)  # (B, T, H)
        if self.head_weights == "mean":
            voting = voting * flow.mean_weights(voting)
        total = voting.sum(dim=1)  # (B, H)
        weight = self.head_proj.weight.to(total.dtype)  # layers may be in bfloat16, routing is not
        return torch.softmax(total @ weight.t(), dim=-1)
