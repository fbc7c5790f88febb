"""Criterions: one joint loss, and each paper's diagnostics on top of it."""

from .. import prepare as prepare
from . import (
    gru_selfattn_residual,
    joint_loss,
    transformer_cross_agg,
    transformer_ctxaware,
    transformer_dc,
    transformer_mlmha,
    transformer_ms_aux,
)

__all__ = [
    "gru_selfattn_residual",
    "joint_loss",
    "transformer_cross_agg",
    "transformer_ctxaware",
    "transformer_dc",
    "transformer_mlmha",
    "transformer_ms_aux",
]
