"""Criterions: one joint loss, and each paper's diagnostics on top of it."""

from . import (
    joint_loss,
    transformer_cross_agg,
    transformer_ctxaware,
    transformer_dc,
    transformer_mlmha,
    transformer_ms_aux,
)

__all__ = [
    "joint_loss",
    "transformer_cross_agg",
    "transformer_ctxaware",
    "transformer_dc",
    "transformer_mlmha",
    "transformer_ms_aux",
]
