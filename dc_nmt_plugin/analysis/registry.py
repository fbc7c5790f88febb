"""All analyses, by their names on the command line."""

from __future__ import annotations

from .attention import AttentionSpans
from .base import Analysis
from .divergence import ContextDivergence
from .gates import Gates

ANALYSES: dict[str, type[Analysis]] = {
    kind.name: kind
    for kind in (
        AttentionSpans,
        ContextDivergence,
        Gates,
    )
}
