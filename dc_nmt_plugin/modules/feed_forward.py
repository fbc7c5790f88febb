"""Gated activations of feed-forward networks.

N. Shazeer, "GLU Variants Improve Transformer", 2020. Shapes: C model width, F' inner width.
"""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor


def swiglu(x: Tensor) -> Tensor:
    """Returns Swish_1(x W) ⊗ x V, eq. (6), of [x W; x V]: (…, 2F') → (…, F')."""
    gate, linear = x.chunk(2, dim=-1)
    return F.silu(gate) * linear


GATED: dict[str, Callable[[Tensor], Tensor]] = {"swiglu": swiglu}
"""Name → the function of [x W; x V]. Section 2: networks with it have no biases."""


def gated_width(ffn_dim: int) -> int:
    """Returns the inner width F' of a gated network with as many weights as an ungated one.

    Three matrices instead of two: F' = 2/3 F (section 3), as the nearest multiple of 8, which
    matrix products of GPUs need.

    Args:
        ffn_dim: inner width F of the ungated network
    """
    return max(8 * round(ffn_dim / 12), 8)
