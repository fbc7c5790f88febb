"""Values that the modules' options can have, and what follows from them.

This file imports no torch, so that flags and listings can be read without it.
"""

from __future__ import annotations

# context-aware self-attention
CONTEXTS = ("global", "deep-global", "deep", "deep-global+deep")
MIXED = {"queries": ("q",), "keys": ("k",), "both": ("q", "k")}
GATES = ("learnt", "none")

# cross aggregation
ROUTINGS = ("both", "horizontal", "vertical")
INITS = ("zero", "self")
HEAD_WEIGHTS = ("mean", "sum")


def context_levels(context: str, layer: int) -> tuple[range, range]:
    """Returns the layer inputs that make up a context.

    Args:
        context: one of :data:`CONTEXTS`
        layer: the layer that uses it, 1-based

    Returns:
        0-based levels i of the global contexts c^{i+1} (eqs 8, 10), and of the layer inputs
        H^{i+1} (eq. 9); both are empty for the deep context of layer 1, the lowest layer

    Raises:
        ValueError: unknown context, or a layer below 1
    """
    if context not in CONTEXTS:
        raise ValueError(f"context is {context!r}; choose from {', '.join(CONTEXTS)}")
    if layer < 1:
        raise ValueError(f"layer is {layer}; layers are counted from 1")
    first_global = layer - 1 if context == "global" else 0
    has_global, has_deep = context != "deep", context.endswith("deep")
    return range(first_global, layer if has_global else first_global), range(
        layer - 1 if has_deep else 0
    )
