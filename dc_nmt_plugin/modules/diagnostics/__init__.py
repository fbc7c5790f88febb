"""Diagnostics: reductions of the tensors that the mechanisms record to the numbers of their papers.

There is one file for each mechanism. A model has the diagnostics of all mechanisms that it
contains. They are selected by the recorded tensors, not by the name of the architecture.
"""

from ..core.recording import Recorded
from . import divergence, gates, head_weights, previous_words
from .records import Batch, Diagnostic, Totals, pool

DIAGNOSTICS: tuple[Diagnostic, ...] = (
    divergence.DIAGNOSTIC,
    gates.DIAGNOSTIC,
    head_weights.DIAGNOSTIC,
    previous_words.DIAGNOSTIC,
)
NEEDED = frozenset(name for diagnostic in DIAGNOSTICS for name in diagnostic.needs)
"""The tensors to record for all of them; attention whose weights none needs stays fused."""


def diagnose(recorded: Recorded, batch: Batch, totals: Totals) -> None:
    """Adds every diagnostic of what one module recorded to `totals`."""
    for diagnostic in DIAGNOSTICS:
        for parts, (total, count) in diagnostic.totals({"": recorded}, batch).items():
            pool(totals, parts, total, count)


__all__ = ["DIAGNOSTICS", "NEEDED", "Batch", "Diagnostic", "Totals", "diagnose"]
