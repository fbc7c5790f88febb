"""Dual contextual self-attention (Ampomah et al., "Dual contextual module for NMT"; thesis ch. 5).

where, for a layer input r (B, T, C):
    l_c  local context: a convolution of width f with a gated linear unit      eq. (6)
    h_l  attention from r to l_c; h_g attention from r to r                     eq. (7)
    ẑ    their aggregation                                                      eq. (8)
    z_f  LayerNorm(ẑ + r): the layer's own residual and norm do this            eq. (9)
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .core.attention import check_heads
from .core.dropout import dropout as drop
from .core.flow import Flow
from .core.initial_weights import input_projection, output_projection
from .core.masks import SequenceMask
from .core.self_attention import MultiHeadSelfAttention
from .core.session import Session, Stateful
from .core.slow_linear import SlowLinear
from .mechanisms import DUAL_CONTEXT

# of W_z, as a part of the weights that would give the variance of one context; our choice,
# measured in docs/results/multi30k.md
START = 0.3


class LocalContext(Stateful):
    """Local context unit: l_c = LayerNorm(GLU([r_{t-…}, …] W^r + b^r) + r), eq. (6).

    The encoder's window at position t is t - f//2 … t + f - f//2 - 1, the decoder's t-f+1 … t
    (for the published f = 2 both are t-1, t); positions outside the sentence are zero.

    Args:
        embed_dim: width C
        kernel: f ≥ 1
        dropout: dropout of the gated unit's output, before the residual

    Raises:
        ValueError: f < 1
    """

    def __init__(self, *, embed_dim: int, kernel: int = 2, dropout: float = 0.0) -> None:
        super().__init__()
        DUAL_CONTEXT.check(kernel=kernel)
        self.kernel = kernel
        self.dropout = dropout
        # W^r (f·C → 2C) on the concatenated window: one product, first half linear, second gate
        self.conv = nn.Linear(kernel * embed_dim, 2 * embed_dim)
        self.layer_norm = nn.LayerNorm(embed_dim)

    def forward(self, x: Tensor, mask: SequenceMask, session: Session | None = None) -> Tensor:
        """Maps (B, T, C) → l_c (B, T, C)."""
        gated = F.glu(self.conv(self._windows(x, mask, session)), dim=-1)
        output: Tensor = self.layer_norm(drop(gated, self.dropout, self.training) + x)
        return output  # Eq. (6)

    def _windows(self, x: Tensor, mask: SequenceMask, session: Session | None) -> Tensor:
        """Returns the inputs in the window of each position, from left to right: (B, T, f·C)."""
        width, length = self.kernel, x.size(1)
        if width == 1:
            return x
        if session is not None:
            slot = self.slot(session)
            past = slot["inputs"] if slot else x.new_zeros(x.size(0), width - 1, x.size(2))
            padded = torch.cat([past, x], dim=1)  # (R, f, C)
            slot["inputs"] = padded[:, 1:]
        else:
            left = width - 1 if mask.causal else width // 2
            padded = F.pad(mask.zero_padding(x), (0, 0, left, width - 1 - left))
        return torch.cat([padded[:, i : i + length] for i in range(width)], dim=-1)


class DualContextAttention(MultiHeadSelfAttention):
    """Local context unit and context interaction unit, eqs (6)-(8). The layer adds eq. (9).

    Args:
        embed_dim: width C
        num_heads: heads H of each of the two attentions; must divide C
        kernel: width f of the local context's convolution
        dropout: dropout of the attention weights
        residual_dropout: dropout inside the local context unit
        bias: whether the query, key and value projections have biases
    """

    def __init__(
        self,
        *,
        embed_dim: int,
        num_heads: int,
        kernel: int = 2,
        dropout: float = 0.0,
        residual_dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__(num_heads=num_heads, dropout=dropout)
        check_heads(embed_dim, num_heads)
        self.local = LocalContext(embed_dim=embed_dim, kernel=kernel, dropout=residual_dropout)
        # of r: [W^q of h_l; W^q of h_g; W^k of h_g; W^v of h_g]; of l_c: [W^k; W^v] of h_l
        self.in_proj = input_projection(nn.Linear(embed_dim, 4 * embed_dim, bias=bias), blocks=4)
        self.local_proj = input_projection(nn.Linear(embed_dim, 2 * embed_dim, bias=bias), blocks=2)
        # W_z, b_z. At the start of training h_l and h_g are similar, both are means over the
        # sentence, so W_z takes half steps. With half steps alone and a short warm-up, ẑ still
        # drowned the residual connection, so W_z also starts small.
        self.out_proj = SlowLinear(embed_dim, embed_dim, blocks=2)
        output_projection(self.out_proj, contexts=2)
        self.out_proj.rescale(START)

    def forward(self, x: Tensor, flow: Flow | Tensor | None = None) -> Tensor:
        """Returns ẑ of eq. (8), (B, T, C).

        See :class:`~.core.self_attention.MultiHeadSelfAttention` for the arguments. Records
        ``global_weights`` and ``local_weights`` (B, H, T, S).
        """
        flow = Flow.of(x, flow)
        l_c = self.local(x, flow.mask, flow.session)
        local_query, query, key, value = self.heads(self.in_proj(x), 4)
        local_key, local_value = self.heads(self.local_proj(l_c), 2)
        # Eq. (7); for rotary positions, the local context of position t is at t
        h_l = self.attend(local_query, local_key, local_value, flow, record="local_weights")
        h_g = self.attend(query, key, value, flow, record="global_weights")
        output: Tensor = self.out_proj(torch.cat([h_l, h_g], dim=-1))  # Eq. (8), (B, T, 2C)
        return output
