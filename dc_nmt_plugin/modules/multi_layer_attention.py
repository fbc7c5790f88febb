"""Encoder-decoder attention over several encoder layers (Ampomah's thesis, section 3.2.2).

Shapes: S sentences, M source positions, R = S × beam hypotheses, T target positions, C model width,
H heads, K = C / H width of a head; n source layers f^1 … f^n, lowest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .core.attention import (
    AttentionToSource,
    attend,
    check_heads,
    softmax,
    source_of,
    split_heads,
)
from .core.flow import Flow
from .core.initial_weights import input_projection, output_projection
from .core.source import Source, check_layers
from .joint_attention import joint_logits, sums_of_sentences


class MultiLayerAttention(AttentionToSource):
    """MLMHA: separate q/k/v projections for each source layer, eqs (3.7)-(3.11).

    =====================  =========================  =======================
    model M-Ū0Ū1           weights                    output (before W_o)
    =====================  =========================  =======================
    M-00 (joint)           a = softmax(Σ_j α^j)       [a v^1; …; a v^n]
    M-01 (joint, summed)   a = softmax(Σ_j α^j)       Σ_i a v^i = a Σ_i v^i
    M-10                   a^i = softmax(α^i)         [a^1 v^1; …; a^n v^n]
    M-11 (summed)          a^i = softmax(α^i)         Σ_i a^i v^i
    =====================  =========================  =======================

    where α^i = q^i k^iᵀ / √K are the scores on source layer i. With n = 1 all four are
    :class:`.attention.SourceAttention`.

    Rows of `q_proj` and columns of `out_proj` (contexts side by side) are ordered (layer, head, K).
    Decoding with joint weights is in :mod:`.joint_attention`.

    Args:
        embed_dim: width C of decoder and output
        source_dim: width of the source representations
        num_heads: heads H; must divide C
        num_layers: source layers n ≥ 1
        joint_weights: one softmax over the summed scores (Ū0 = 0)
        sum_contexts: contexts are summed (Ū1 = 1) instead of concatenated (Ū1 = 0)
        dropout: dropout of the attention weights
        bias: whether the projections have biases
    """

    def __init__(
        self,
        *,
        embed_dim: int,
        source_dim: int,
        num_heads: int,
        num_layers: int,
        joint_weights: bool,
        sum_contexts: bool,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_heads(embed_dim, num_heads)
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.num_layers = num_layers
        self.source_dim = source_dim
        self.joint_weights = joint_weights
        self.sum_contexts = sum_contexts
        self.dropout = dropout
        shared_width = source_dim == embed_dim
        self.q_proj = input_projection(
            nn.Linear(embed_dim, num_layers * embed_dim, bias=bias),
            blocks=num_layers,
            shared_width=shared_width,
        )
        self.kv_projs = nn.ModuleList(
            input_projection(
                nn.Linear(source_dim, 2 * embed_dim, bias=bias), blocks=2, shared_width=shared_width
            )
            for _ in range(num_layers)
        )
        contexts_dim = embed_dim if sum_contexts else num_layers * embed_dim
        self.out_proj = output_projection(
            nn.Linear(contexts_dim, embed_dim, bias=bias), contexts=num_layers, summed=sum_contexts
        )

    def forward(self, x: Tensor, flow: Flow) -> Tensor:
        """
        Args:
            x: (R, T, C) queries, R = sentences × beam, the hypotheses of a sentence adjacent
            flow: the source, with n features, and the decoding session; with one, keys and values
                are kept in the source

        Returns:
            (R, T, C); records ``weights``, (R, H, T, M) for joint weights and (R, n, H, T, M) for
            separate ones
        """
        source, decoding = source_of(flow), flow.session is not None
        attention, project = self._attend, self.project_source
        if decoding and self.joint_weights:
            attention, project = self._attend_to_sums, self.project_sums
        projected = source.cached(self, project, keep=decoding)
        # hypotheses of a sentence are further queries on the same keys
        queries = x.view(source.sentences, -1, x.size(-1))
        return attention(queries, projected, source, x.size(1)).view_as(x)

    def _attend(
        self, queries: Tensor, projected: Sequence[Tensor], source: Source, length: int
    ) -> Tensor:
        """Returns the output (S, beam·T, C) of all four models, with one attention."""
        key, value = projected
        query = self.q_proj(queries).unflatten(-1, (self.num_layers, self.num_heads, -1))
        if self.joint_weights:  # wider heads: Σ_j q^j k^jᵀ = [q^1 … q^n] [k^1 … k^n]ᵀ
            query = query.permute(0, 3, 1, 2, 4).flatten(3)  # (S, H, beam·T, n·K)
        else:  # more heads
            query = query.flatten(2, 3).transpose(1, 2)  # (S, n·H, beam·T, K)
        contexts, weights = attend(  # Eqs (3.7)-(3.10)
            query,
            key,
            value,
            mask=source.mask,
            head_dim=self.head_dim,
            dropout=self.dropout if self.training else 0.0,
            need_weights=self.wants("weights"),
        )
        if weights is not None:
            weights = source.rows_of(weights, length)
            layers = (self.num_layers, self.num_heads)
            self.record(weights=weights if self.joint_weights else weights.unflatten(1, layers))
        # Ĉ = [c^1; …; c^n], in the order (layer, head, K), whether layers are more heads or wider
        # ones; of M-01 only Σ_i c^i, because its values are summed
        joined = contexts.unflatten(-1, (-1, self.head_dim)).permute(0, 2, 3, 1, 4).flatten(2)
        if self.sum_contexts:  # Ĉ = Σ_i c^i
            joined = joined.unflatten(-1, (-1, queries.size(-1))).sum(dim=2)
        output: Tensor = self.out_proj(joined)  # Eq. (3.11)
        return output

    def _attend_to_sums(
        self, queries: Tensor, projected: Sequence[Tensor], source: Source, length: int
    ) -> Tensor:
        """Returns the output (S, beam·T, C) of a decoding step with joint weights."""
        for_scores, for_output, added = projected
        weights = softmax(  # (S, beam·T, H, M)
            joint_logits(queries, for_scores, added, self.num_heads), for_output.dtype
        )
        if self.wants("weights"):
            self.record(weights=source.rows_of(weights.transpose(1, 2), length))
        weights = F.dropout(weights, self.dropout, self.training).flatten(2)
        if self.out_proj.bias is None:
            return weights @ for_output
        return torch.baddbmm(self.out_proj.bias, weights, for_output)

    def project_source(self, source: Source) -> tuple[Tensor, ...]:
        """Returns keys and values as :meth:`_attend` takes them.

        For separate weights both are (S, n·H, M, K), for joint weights (S, H, M, n·K). For M-01 the
        value is Σ_i v^i (S, H, M, K), because a v^1 + … + a v^n = a (v^1 + … + v^n).
        """
        axis = -1 if self.joint_weights else 1
        keys, values = (
            torch.cat([split_heads(part, self.num_heads) for part in parts], dim=axis)
            for parts in self._keys_and_values(source)
        )
        return keys, values

    def project_sums(self, source: Source) -> tuple[Tensor, ...]:
        """Returns what decoding with joint weights reads in every step; see
        :func:`~.joint_attention.sums_of_sentences`."""
        keys, values = self._keys_and_values(source)
        return sums_of_sentences(
            torch.cat(keys, dim=-1),
            torch.cat(values, dim=-1),
            self.q_proj,
            self.out_proj,
            self.num_heads,
            source.padding,
        )

    def _keys_and_values(self, source: Source) -> tuple[list[Tensor], list[Tensor]]:
        """Returns keys and values of each source layer (S, M, C), or only the values' sum."""
        check_layers(source.features, self.num_layers, self.source_dim)
        keys, values = [], []
        for proj, feature in zip(self.kv_projs, source.features, strict=True):
            key, value = proj(feature).chunk(2, dim=-1)
            keys.append(key)
            values.append(value)
        if self.joint_weights and self.sum_contexts:
            values = [reduce(torch.add, values)]
        return keys, values
