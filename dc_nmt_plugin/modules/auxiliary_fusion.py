"""Auxiliary information fusion, AIF (Ampomah's thesis, section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from .layer_aggregation import WeightedSum


class AuxiliaryFusion(nn.Module):
    """Adds the states of the auxiliary decoders to a layer of the main decoder: ĥ + Σ_i W^i f^i.

    It follows the residual connection and layer norm of the masked self-attention. Its output is
    the query and the residual of the encoder-decoder attention.

    Args:
        embed_dim: width C
        num_auxiliary: number of auxiliary decoders, at least 1
    """

    def __init__(self, *, embed_dim: int, num_auxiliary: int) -> None:
        super().__init__()
        self.weighted_sum = WeightedSum(embed_dim=embed_dim, num_inputs=num_auxiliary)

    def forward(self, x: Tensor, features: Sequence[Tensor]) -> Tensor:
        """
        Args:
            x: ĥ (R, T, C), the self-attention sublayer's output
            features: f^i (R, T, C), final hidden states of each auxiliary decoder for the same
                target prefix

        Returns:
            (R, T, C)
        """
        fused: Tensor = self.weighted_sum(features)  # Eq. (4.2)
        return x + fused  # Eq. (4.3)
