"""Auxiliary information fusion, AIF (Ampomah's thesis, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import Tensor, nn

from .layer_aggregation import WeightedSum


class AuxiliaryFusion(nn.Module):
    """What a layer of the main decoder takes from the auxiliary decoders: ĥ + Σ_i W^i f^i.

    Its place is right after the masked self-attention sublayer's residual connection and layer
    norm; its output is the query and the residual of the encoder-decoder attention.

    Args:
        embed_dim: width C
        num_auxiliary: number of auxiliary decoders, at least 1

    Attributes:
        enabled: False acts as if all W^i were zero: the thesis's ind-decoder
    """

    def __init__(self, *, embed_dim: int, num_auxiliary: int) -> None:
        super().__init__()
        self.weighted_sum = WeightedSum(embed_dim=embed_dim, num_inputs=num_auxiliary)
        self.enabled = True

    def forward(self, x: Tensor, features: Sequence[Tensor]) -> Tensor:
        """
        Args:
            x: ĥ (R, T, C), the self-attention sublayer's output
            features: f^i (R, T, C), final hidden states of each auxiliary decoder for the same
                target prefix

        Returns:
            (R, T, C)
        """
        if not self.enabled:
            return x
        fused: Tensor = self.weighted_sum(features)  # Eq. (4.2)
        return x + fused  # Eq. (4.3)


@contextmanager
def without_fusion(model: nn.Module) -> Iterator[None]:
    """Inside, every :class:`AuxiliaryFusion` in `model` acts as if its weights were zero."""
    modules = [m for m in model.modules() if isinstance(m, AuxiliaryFusion)]
    before = [module.enabled for module in modules]
    try:
        for module in modules:
            module.enabled = False
        yield
    finally:
        for module, enabled in zip(modules, before, strict=True):
            module.enabled = enabled
