"""Positions that self-attention itself sees: rotary and relative.

Shapes: B sequences, T queries, S keys, H heads, K width of a head. Sinusoidal and learned positions
are added to the embeddings instead, and attention knows nothing of them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .flow import Flow


class Positions(nn.Module):
    """Base of what a self-attention does with positions: nothing, in every method."""

    in_logits = False
    """Whether the logits depend on them beyond queries and keys, so that attention is not fused."""

    def encode(self, x: Tensor, flow: Flow) -> Tensor:
        """Returns queries or keys x (B, H, T, K) with their positions in them."""
        return x

    def scores(self, query: Tensor, keys: int, flow: Flow) -> Tensor | float:
        """Returns what positions add to q kᵀ (B, H, T, S), of queries (B, H, T, K) and S keys."""
        return 0.0

    def values(self, weights: Tensor, flow: Flow) -> Tensor | float:
        """Returns what positions add to the output (B, H, T, K), of the weights (B, H, T, S)."""
        return 0.0


class RotaryPositions(Positions):
    """Rotates queries and keys by their position, so that q kᵀ depends on the distance.

    J. Su, Y. Lu, S. Pan, A. Murtadha, B. Wen, Y. Liu, "RoFormer: Enhanced Transformer with Rotary
    Position Embedding", 2021, eqs (14), (15), (34): the pair (x_{2i-1}, x_{2i}) of position m is
    rotated by the angle m θ_i, θ_i = 10000^{-2(i-1)/K}. It has no parameters.

    Args:
        head_dim: width K of a head, even

    Raises:
        ValueError: K is odd
    """

    def __init__(self, *, head_dim: int) -> None:
        super().__init__()
        if head_dim % 2:
            raise ValueError(f"head_dim {head_dim} is odd: rotary positions turn pairs of numbers")
        self.head_dim = head_dim

    def encode(self, x: Tensor, flow: Flow) -> Tensor:
        """See :class:`Positions`; the angles are computed in float32 or better."""
        dtype = torch.promote_types(x.dtype, torch.float32)
        key = (type(self), self.head_dim, dtype)
        positions = range(flow.first_position, flow.first_position + x.size(-2))
        rotations: Tensor = flow.shared(key, lambda: self._rotations(positions, dtype, x.device))
        # the pair (a, b) as a + ib: a rotation is one product of complex numbers
        pairs = torch.view_as_complex(x.to(dtype).unflatten(-1, (-1, 2)).contiguous())
        return torch.view_as_real(pairs * rotations).flatten(-2).type_as(x)  # Eq. (34)

    def _rotations(self, positions: range, dtype: torch.dtype, device: torch.device) -> Tensor:
        """Returns e^{i m θ} (T, K / 2), complex, of T positions m."""
        pair = torch.arange(0, self.head_dim, 2, dtype=torch.float64, device=device)
        position = torch.arange(positions.start, positions.stop, dtype=torch.float64, device=device)
        angles = torch.outer(position, 10_000.0 ** (-pair / self.head_dim)).to(dtype)  # Eq. (15)
        return torch.polar(torch.ones_like(angles), angles)


class RelativePositions(Positions):
    """Adds learned vectors of the clipped distance to keys and values.

    P. Shaw, J. Uszkoreit, A. Vaswani, "Self-Attention with Relative Position Representations",
    NAACL 2018, eqs (3)-(5):

        e_ij = q_i (k_j + a^K_ij)ᵀ / √K,   z_i = Σ_j α_ij (v_j + a^V_ij),
        a_ij = w_clip(j - i),  clip(x) = max(-k, min(k, x))

    where w^K and w^V, 2k + 1 vectors each, are the layer's own, shared by its heads. The products
    with w are computed once for each of the 2k + 1 distances, and then picked by distance.

    Args:
        head_dim: width K of a head
        clip: the largest distance k with vectors of its own (the paper: 16)
    """

    in_logits = True

    def __init__(self, *, head_dim: int, clip: int) -> None:
        super().__init__()
        self.clip = clip
        # like fairseq's embeddings: N(0, 1/K), so that a q of variance v adds scores of v
        shape, std = (2 * clip + 1, head_dim), head_dim**-0.5
        self.key_table = nn.Parameter(torch.empty(shape).normal_(std=std))  # w^K
        self.value_table = nn.Parameter(torch.empty(shape).normal_(std=std))  # w^V

    def scores(self, query: Tensor, keys: int, flow: Flow) -> Tensor:
        """See :class:`Positions`."""
        by_distance = query @ self.key_table.t()  # (B, H, T, K) @ (K, 2k + 1)
        distance = self._distances(flow, query.size(-2), keys, query.device)  # (T, S)
        return by_distance.gather(-1, distance.expand(*query.shape[:-1], keys))  # in Eq. (4)

    def values(self, weights: Tensor, flow: Flow) -> Tensor:
        """See :class:`Positions`."""
        distance = self._distances(flow, weights.size(-2), weights.size(-1), weights.device)
        by_distance = weights.new_zeros(*weights.shape[:-1], 2 * self.clip + 1)
        by_distance = by_distance.scatter_add(-1, distance.expand_as(weights), weights)
        return by_distance @ self.value_table  # in Eq. (3), (B, H, T, 2k + 1) @ (2k + 1, K)

    def _distances(self, flow: Flow, queries: int, keys: int, device: torch.device) -> Tensor:
        """Returns the rows (T, S) of the tables: clip(j - i) + k."""
        first = flow.first_position

        def compute() -> Tensor:
            query = torch.arange(first, first + queries, device=device)
            key = torch.arange(keys, device=device)
            return (key - query[:, None]).clamp(-self.clip, self.clip) + self.clip

        return flow.shared((type(self), self.clip, queries, keys), compute)
