"""Aggregation of several encoder layers into one source representation.

"Layer aggregation" of Ampomah's thesis, section 3.2.1: the decoder attends to
H^a = aggregate(F^s), with F^s = [f^1 … f^n] the outputs of the top n encoder layers.

Shapes: S sentences, M source positions, C model width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .core.source import check_layers


class WeightedSum(nn.Module):
    """Computes WS(r) = Σ_i W^i r^i, eq. (3.1), as one product of concatenated matrices.

    (Concatenating the inputs was measured to be at least as fast as adding products.)

    Args:
        embed_dim: width C
        num_inputs: number b of tensors r^i
    """

    def __init__(self, *, embed_dim: int, num_inputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(embed_dim, num_inputs * embed_dim))  # [W^1 … W^b]
        # as one matrix: with separate fans the sum's variance would grow with the inputs' number
        bound = 1 / math.sqrt(num_inputs * embed_dim)  # nn.Linear's own
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        """Maps b tensors (…, C) to (…, C)."""
        return F.linear(_concatenate(inputs), self.weight)  # Eq. (3.1)


class AggregationUnit(nn.Module):
    """AGG(r) = LayerNorm(FFN([r^1; …; r^b]) + Σ_i r^i), eq. (3.3), FFN with ReLU.

    Args:
        embed_dim: width C
        num_inputs: number b of tensors r^i
        ffn_dim: width of the FFN's hidden layer
        dropout: dropout of the FFN's output, as in every sublayer under a residual connection
    """

    def __init__(
        self, *, embed_dim: int, num_inputs: int, ffn_dim: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.fc1 = nn.Linear(num_inputs * embed_dim, ffn_dim)
        self.fc2 = nn.Linear(ffn_dim, embed_dim)
        self.layer_norm = nn.LayerNorm(embed_dim)

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        """Maps b tensors (…, C) to (…, C)."""
        output = self.fc2(F.relu(self.fc1(_concatenate(inputs))))
        output = F.dropout(output, self.dropout, self.training)
        for x in inputs:
            output = output + x
        normalised: Tensor = self.layer_norm(output)  # Eq. (3.3)
        return normalised


def _concatenate(inputs: Sequence[Tensor]) -> Tensor:
    return inputs[0] if len(inputs) == 1 else torch.cat(list(inputs), dim=-1)


def _unit(
    embed_dim: int, num_inputs: int, ffn_dim: int | None, dropout: float
) -> WeightedSum | AggregationUnit:
    if ffn_dim is None:
        return WeightedSum(embed_dim=embed_dim, num_inputs=num_inputs)
    return AggregationUnit(
        embed_dim=embed_dim, num_inputs=num_inputs, ffn_dim=ffn_dim, dropout=dropout
    )


class Aggregation(nn.Module):
    """Base of what makes one source representation of several encoder layers.

    In a model, the constructor gets those of ``embed_dim`` (width C), ``num_layers`` (n),
    ``ffn_dim`` and ``dropout`` that it names, and the options.
    """

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        """Maps n tensors (S, M, C), lowest encoder layer first, to H^a (S, M, C)."""
        raise NotImplementedError


class LinearAggregation(Aggregation):
    """All features in one unit.

    S-Agg, "linear feature summation", with sums: H^a = Σ_i W^i f^i, eq. (3.1). C-Agg, "linear
    feature concatenation", with FFNs: eq. (3.4). With n = 1: W^1 f^1, or LayerNorm(FFN(f^1) + f^1).

    Args:
        embed_dim: width C
        num_layers: number n ≥ 1 of encoder layers
        ffn_dim: width of the FFN's hidden layer (thesis: the encoder's); None: a weighted sum
        dropout: dropout of the FFN's output (not mentioned in the thesis)
    """

    def __init__(
        self, *, embed_dim: int, num_layers: int, ffn_dim: int | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.sizes = (num_layers, embed_dim)
        self.unit = _unit(embed_dim, num_layers, ffn_dim, dropout)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        """See :class:`Aggregation`."""
        check_layers(features, *self.sizes)
        output: Tensor = self.unit(features)
        return output


class IterativeAggregation(Aggregation):
    """H_1 = f^1, H_i = unit_i([f^i, H_{i-1}]), H^a = H_n.

    Iter-S-Agg, "iterative feature summation", with sums: eq. (3.2). Iter-C-Agg, "iterative feature
    concatenation", with FFNs: eq. (3.5). With n = 1: f^1, without parameters.

    Args:
        embed_dim, num_layers, ffn_dim, dropout: as in :class:`LinearAggregation`
    """

    def __init__(
        self, *, embed_dim: int, num_layers: int, ffn_dim: int | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.sizes = (num_layers, embed_dim)
        self.units = nn.ModuleList(
            _unit(embed_dim, 2, ffn_dim, dropout) for _ in range(num_layers - 1)
        )

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        """See :class:`Aggregation`."""
        check_layers(features, *self.sizes)
        output = features[0]
        for unit, feature in zip(self.units, features[1:], strict=True):
            output = unit([feature, output])  # Eqs (3.2), (3.5)
        return output
