"""Multi-head attention for all other modules, and attention to the source.

Shapes: B sequences, T queries, S keys, C model width, H heads, K = C / H width of a head. For the
source: M positions, R = sentences × beam hypotheses.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .dropout import dropout as drop
from .flow import Flow
from .initial_weights import input_projection, output_projection
from .masks import later_keys
from .recording import Recordable
from .source import Source, check_layers


def check_heads(embed_dim: int, num_heads: int) -> None:
    """Checks the sizes of an attention when it is made.

    Raises:
        ValueError: the heads do not divide the width
    """
    if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
        raise ValueError(
            f"num_heads: {num_heads} heads do not divide embed_dim {embed_dim}; the width of a "
            "head is embed_dim / num_heads"
        )


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Splits heads, (B, T, C) → (B, H, T, K)."""
    batch, length, width = x.shape
    return x.view(batch, length, num_heads, width // num_heads).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """Joins heads, (B, H, T, K) → (B, T, C)."""
    batch, heads, length, width = x.shape
    return x.transpose(1, 2).reshape(batch, length, heads * width)


def attention_logits(
    query: Tensor, key: Tensor, added: Tensor | float = 0.0, *, head_dim: int | None = None
) -> Tensor:
    """Returns scaled dot products (B, H, T, S).

    Args:
        query: (B, H, T, K)
        key: (B, H, S, K)
        added: to the products before scaling, (B, H, T, S)
        head_dim: K of the scale 1 / √K; None: the width of the queries
    """
    # in place, because these are the largest tensors of a layer; autograd needs none of them
    logits = query @ key.transpose(-2, -1)  # (B, H, T, K) @ (B, H, K, S) = (B, H, T, S)
    if isinstance(added, Tensor):
        logits += added
    logits /= math.sqrt(head_dim or query.size(-1))
    return logits


def masked(logits: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    """Returns logits (B, H, T, S) with -inf where attention is not allowed.

    Args:
        logits: (B, H, T, S)
        mask: 0 or -inf, broadcastable to (B, H, T, S), or None
        causal: position t sees positions ≤ t
    """
    if causal:
        later = later_keys(logits.size(-2), logits.size(-1), logits.device)
        logits = logits.masked_fill(later, -math.inf)
    return logits if mask is None else logits + mask


def softmax(scores: Tensor, dtype: torch.dtype) -> Tensor:
    """Returns the softmax of scores (…, S) as `dtype`, computed in float32 or better."""
    precise = torch.promote_types(scores.dtype, torch.float32)
    return torch.softmax(scores, dim=-1, dtype=precise).to(dtype)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    head_dim: int | None = None,
    dropout: float = 0.0,
    need_weights: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Returns softmax(q kᵀ / √K) v per head (Vaswani et al. 2017, eq. 1).

    Args:
        query: (B, H, T, K)
        key, value: (B, H, S, K), or values of another width
        mask: added to the logits, broadcastable to (B, H, T, S), see `added_to_logits`, or None
        causal: position t sees positions ≤ t (T = S)
        head_dim: K of the scale 1 / √K; None: the width of the queries
        dropout: probability of dropping an attention weight
        need_weights: compute the softmax explicitly and return it

    Returns:
        (B, H, T, K) and the weights (B, H, T, S) before dropout, or None
    """
    if not need_weights:
        scale = None if head_dim is None else 1 / math.sqrt(head_dim)
        output = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=causal, dropout_p=dropout, scale=scale
        )
        return output, None
    logits = attention_logits(query, key, head_dim=head_dim)
    weights = softmax(masked(logits, mask, causal), value.dtype)
    # `dropout` is 0 outside training
    return drop(weights, dropout, True) @ value, weights  # (B, H, T, S) @ (B, H, S, K)


def source_of(flow: object) -> Source:
    """Returns what a decoder layer attends to.

    Raises:
        TypeError: `flow` is something else
        ValueError: it has no source, as in encoders
    """
    if not isinstance(flow, Flow):
        raise TypeError(
            "flow must be a Flow with a source: Flow(source=Source([features], padding=padding)), "
            "with features (S, M, C) and padding (S, M), bool, or None"
        )
    return flow.source


class AttentionToSource(Recordable):
    """Base of encoder-decoder attentions: of what a decoder layer reads of the encoder.

    Records ``weights`` (R, …, T, M), whose mean over heads and source layers is the alignment.
    """

    def forward(self, x: Tensor, flow: Flow) -> Tensor:
        """
        Args:
            x: (R, T, C) queries, R = sentences × beam, the hypotheses of a sentence adjacent
            flow: its ``source``, and the decoding session; with one, what :meth:`Source.cached`
                keeps is computed once a sentence

        Returns:
            (R, T, C)
        """
        raise NotImplementedError


class SourceAttention(AttentionToSource):
    """Encoder-decoder attention over one source representation (Vaswani et al. 2017, 3.2.3).

    Keys and values depend only on the sentence. In decoding they are projected once per sentence
    and kept with the source; the hypotheses of a sentence are additional query rows.

    Args:
        embed_dim: width C of decoder and output
        source_dim: width of the source representation
        num_heads: heads H; must divide C
        dropout: dropout of the attention weights
        bias: whether the projections have biases
    """

    def __init__(
        self,
        *,
        embed_dim: int,
        source_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_heads(embed_dim, num_heads)
        self.num_heads = num_heads
        self.dropout = dropout
        shared_width = source_dim == embed_dim
        self.q_proj = input_projection(
            nn.Linear(embed_dim, embed_dim, bias=bias), shared_width=shared_width
        )
        self.kv_proj = input_projection(
            nn.Linear(source_dim, 2 * embed_dim, bias=bias), blocks=2, shared_width=shared_width
        )
        self.out_proj = output_projection(nn.Linear(embed_dim, embed_dim, bias=bias))

    def forward(self, x: Tensor, flow: Flow) -> Tensor:
        """See :class:`AttentionToSource`; records ``weights`` (R, H, T, M)."""
        rows, length, width = x.shape
        source = source_of(flow)
        key, value = source.cached(self, self.project_source, keep=flow.session is not None)
        # hypotheses of a sentence are further queries on the same keys
        query = split_heads(self.q_proj(x).view(source.sentences, -1, width), self.num_heads)
        output, weights = attend(
            query,  # (sentences, H, beam * T, K)
            key,
            value,
            mask=source.mask,
            dropout=self.dropout if self.training else 0.0,
            need_weights=self.wants("weights"),
        )
        if weights is not None:
            self.record(weights=source.rows_of(weights, length))
        projected: Tensor = self.out_proj(merge_heads(output))  # (sentences, beam * T, C)
        return projected.view(rows, length, width)

    def project_source(self, source: Source) -> tuple[Tensor, ...]:
        """Returns keys and values (sentences, H, M, K) of the only source representation."""
        check_layers(source.features, 1, self.kv_proj.in_features)
        key, value = self.kv_proj(source[0]).chunk(2, dim=-1)  # (sentences, M, C) each
        return split_heads(key, self.num_heads), split_heads(value, self.num_heads)
