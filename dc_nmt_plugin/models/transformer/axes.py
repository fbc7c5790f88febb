"""The values of the four axes, and what settings they have. Listings read this without torch.

The classes that belong to the names are in :mod:`.build`.
"""

from __future__ import annotations

from typing import NamedTuple

# A, self-attention: kind → its options. Their names in --encoder-layers-of → the settings (and
# so the flags) that give their values for all layers
SELF_ATTENTION_KINDS: dict[str, dict[str, str]] = {
    "standard": {},
    "dual_context": {"kernel": "dc_kernel_size"},
    "context_aware": {"context": "ctx_context", "on": "ctx_on", "gate": "ctx_gate"},
    "cross_aggregation": {
        "routing": "xagg_routing",
        "init": "xagg_init",
        "iterations": "xagg_iterations",
        "head_weights": "xagg_head_weights",
        "checkpoint": "xagg_checkpoint",
    },
}
ENCODER_ONLY = ("cross_aggregation",)  # it routes over all positions, also later ones
DECODER_KINDS = tuple(kind for kind in SELF_ATTENTION_KINDS if kind not in ENCODER_ONLY)

# B, source features: what the decoder attends to
AGGREGATIONS = ("s-agg", "iter-s-agg", "c-agg", "iter-c-agg")  # several layers made into one
MULTI_LAYER = ("m-00", "m-01", "m-10", "m-11")  # several layers; M-Ū0Ū1 of the thesis
SOURCE_FEATURES = ("top", *AGGREGATIONS, *MULTI_LAYER)

# C, auxiliary decoders, is a list of layers: --aux-layers


class BaseBlock(NamedTuple):
    """D, the base block: choices for the layers beside their attentions."""

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
