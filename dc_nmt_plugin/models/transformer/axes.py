"""Axis D, the base block, and what settings it has. Listings read this without torch.

Axes A and B, self-attention and source features, are in ``modules/mechanisms.py``. Axis C,
auxiliary decoders, is a list of layers: ``--aux-layers``.
"""

from __future__ import annotations

from typing import NamedTuple


class BaseBlock(NamedTuple):
    """Choices for the layers beside their attentions."""

    norm: str
    pre_norm: bool  # the norms stand before the sublayers
    activation_fn: str
    positions: str


BASES = {
    "original": BaseBlock("layer_norm", False, "relu", "absolute"),  # Vaswani et al. 2017
    "modern": BaseBlock("rms_norm", True, "swiglu", "rotary"),
}
NORMS = ("layer_norm", "rms_norm")  # Ba et al. 2016; Zhang and Sennrich 2019
POSITIONS = (
    "absolute",  # added to the embeddings: sinusoidal, or learned with --encoder-learned-pos
    "rotary",  # queries and keys are rotated (Su et al. 2021)
    "relative",  # distances are added to keys and values (Shaw et al. 2018)
)
# fairseq's, in its order, and the gated one
ACTIVATIONS = ("relu", "gelu", "gelu_fast", "gelu_accurate", "tanh", "linear", "swiglu")
