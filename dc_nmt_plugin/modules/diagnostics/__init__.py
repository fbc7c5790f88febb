"""Reduces the tensors that the mechanisms record to the numbers of their papers.

There is one file for each mechanism. A model has the diagnostics of all mechanisms that it
contains. They are selected by the recorded tensors, not by the name of the architecture.
"""

from typing import Any

from ..core.recording import Records
from . import divergence, gates, head_weights, previous_words, source_shares
from .records import Batch, Diagnostic, Totals

DIAGNOSTICS: tuple[Diagnostic, ...] = (
    divergence.DIAGNOSTIC,
    gates.DIAGNOSTIC,
    head_weights.DIAGNOSTIC,
    source_shares.DIAGNOSTIC,
    previous_words.DIAGNOSTIC,
)
NEEDED = frozenset(name for diagnostic in DIAGNOSTICS for name in diagnostic.needs)
"""The tensors to record for all of them; attention whose weights none needs stays fused."""


def diagnose(records: Records, batch: Batch) -> dict[str, tuple[Any, Any]]:
    """Returns every diagnostic of one batch, name → (sum, count)."""
    return {
        "_".join(map(str, parts)): pair
        for diagnostic in DIAGNOSTICS
        for parts, pair in diagnostic.totals(records, batch).items()
    }


__all__ = ["DIAGNOSTICS", "NEEDED", "Batch", "Diagnostic", "Totals", "diagnose"]
