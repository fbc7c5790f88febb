"""Values that the modules' options can have; flags and listings read them without torch."""

from __future__ import annotations

# context-aware self-attention
CONTEXTS = ("global", "deep-global", "deep", "deep-global+deep")
MIXED = {"queries": ("q",), "keys": ("k",), "both": ("q", "k")}
GATES = ("learnt", "none")

# cross aggregation
ROUTINGS = ("both", "horizontal", "vertical")
INITS = ("zero", "self")
HEAD_WEIGHTS = ("mean", "sum")
