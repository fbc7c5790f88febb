"""Encoder-decoder attention over several encoder layers (Ampomah's thesis, section 3.2.2).

Shapes: as in `attention`; n source layers f^1 … f^n, lowest first; S sentences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .core.attention import attend, merge_heads, softmax, split_heads
from .core.flow import Flow
from .core.initial_weights import input_projection, output_projection
from .core.recording import Recordable
from .core.source import Source
from .fast.joint_attention import joint_logits, sums_of_sentences


class MultiLayerAttention(Recordable):
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
    In training on a CPU, a loop over layers was measured to be faster than one attention with n·H
    heads (separate weights), which needs copies. In decoding, keys and values are copied once per
    sentence, and one attention is faster. Decoding with joint weights is in
    :mod:`.fast.joint_attention`.

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
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.num_layers = num_layers
        self.joint_weights = joint_weights
        self.sum_contexts = sum_contexts
        self.dropout = dropout
        same = source_dim == embed_dim
        self.q_proj = input_projection(
            nn.Linear(embed_dim, num_layers * embed_dim, bias=bias),
            blocks=num_layers,
            shared_width=same,
        )
        self.kv_projs = nn.ModuleList(
            input_projection(
                nn.Linear(source_dim, 2 * embed_dim, bias=bias), blocks=2, shared_width=same
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
        rows, length, width = x.shape
        source, decoding = flow.source, flow.state is not None
        project = self.project_for_decoding if decoding else self.project_source
        projected = source.cached(self, project, keep=decoding)
        # hypotheses of a sentence are further queries on the same keys
        queries = x.view(source.sentences, -1, width)
        if decoding and self.joint_weights:
            return self._attend_to_sums(queries, projected, source, length).view_as(x)
        query = self.q_proj(queries)
        if self.joint_weights:
            contexts = self._attend_jointly(query, projected, source, length)
        else:
            contexts = self._attend_separately(query, projected, source, length)
        merged = [merge_heads(context) for context in contexts]  # (S, beam·T, C), or all n·C
        if self.sum_contexts:
            of_layers = [part for context in merged for part in context.split(width, dim=-1)]
            joint = reduce(torch.add, of_layers)
        else:
            joint = torch.cat(merged, dim=-1)
        output: Tensor = self.out_proj(joint)  # Eq. (3.11)
        return output.view(rows, length, -1)

    def _attend_jointly(
        self, query: Tensor, projected: Sequence[Tensor], source: Source, length: int
    ) -> list[Tensor]:
        """Returns contexts c^i (S, H, beam·T, K), or only their sum if the values are summed."""
        queries = [split_heads(q, self.num_heads) for q in query.chunk(self.num_layers, dim=-1)]
        keys, values = projected[: len(queries)], projected[len(queries) :]
        scores = [q @ key.transpose(-2, -1) for q, key in zip(queries, keys, strict=True)]
        logits = reduce(torch.add, scores) / math.sqrt(self.head_dim)  # Σ_j α^j
        if source.allowed is not None:
            logits = logits.masked_fill(~source.allowed, -math.inf)
        weights = softmax(logits, values[0].dtype)
        if self.wants("weights"):
            self.record(weights=source.rows_of(weights, length))
        weights = F.dropout(weights, self.dropout, self.training)
        return [weights @ value for value in values]  # Eq. (3.9)

    def _attend_separately(
        self, query: Tensor, projected: Sequence[Tensor], source: Source, length: int
    ) -> list[Tensor]:
        """Returns contexts c^i (S, H, beam·T, K); in decoding, all in one (S, n·H, beam·T, K)."""
        calls = len(projected) // 2
        heads = self.num_layers * self.num_heads // calls
        contexts, all_weights = [], []
        for part, key, value in zip(
            query.chunk(calls, dim=-1), projected[:calls], projected[calls:], strict=True
        ):
            context, weights = attend(  # Eq. (3.8)
                split_heads(part, heads),
                key,
                value,
                allowed=source.allowed,
                dropout=self.dropout if self.training else 0.0,
                need_weights=self.wants("weights"),
            )
            contexts.append(context)
            if weights is not None:
                all_weights.append(source.rows_of(weights, length))
        if all_weights:
            layers = (self.num_layers, self.num_heads)
            self.record(weights=torch.cat(all_weights, dim=1).unflatten(1, layers))
        return contexts

    def _attend_to_sums(
        self, queries: Tensor, sums: Sequence[Tensor], source: Source, length: int
    ) -> Tensor:
        """Returns the output (S, beam·T, C) of a decoding step with joint weights."""
        for_scores, for_output, added = sums
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
        """Returns keys k^1 … k^n, then values v^1 … v^n, each (S, H, M, K).

        For M-01 the only value is Σ_i v^i, because a v^1 + … + a v^n = a (v^1 + … + v^n).
        """
        keys, values = self._keys_and_values(source)
        return tuple(split_heads(part, self.num_heads) for part in (*keys, *values))

    def project_for_decoding(self, source: Source) -> tuple[Tensor, ...]:
        """Returns for separate weights one key and one value, (S, n·H, M, K); for joint weights
        see :func:`~.fast.joint_attention.sums_of_sentences`."""
        keys, values = self._keys_and_values(source)
        if self.joint_weights:
            return sums_of_sentences(
                torch.cat(keys, dim=-1),
                torch.cat(values, dim=-1),
                self.q_proj,
                self.out_proj,
                self.num_heads,
                source.padding,
            )
        split_keys = [split_heads(key, self.num_heads) for key in keys]
        split_values = [split_heads(value, self.num_heads) for value in values]
        return torch.cat(split_keys, dim=1), torch.cat(split_values, dim=1)

    def _keys_and_values(self, source: Source) -> tuple[list[Tensor], list[Tensor]]:
        """Returns keys and values of each source layer (S, M, C), or only the values' sum."""
        keys, values = [], []
        for proj, feature in zip(self.kv_projs, source.features, strict=True):
            key, value = proj(feature).chunk(2, dim=-1)
            keys.append(key)
            values.append(value)
        if self.joint_weights and self.sum_contexts:
            values = [reduce(torch.add, values)]
        return keys, values
