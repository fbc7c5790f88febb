"""All analyses, by their names on the command line."""

from __future__ import annotations

from .attention import AttentionSpans
from .base import Analysis
from .dependency import Dependency
from .divergence import ContextDivergence
from .gates import Gates
from .parts_of_speech import PartsOfSpeech
from .routing import Routing
from .source_layers import SourceLayers

ANALYSES: dict[str, type[Analysis]] = {
    kind.name: kind
    for kind in (
        AttentionSpans,
        ContextDivergence,
        Gates,
        PartsOfSpeech,
        Routing,
        SourceLayers,
        Dependency,
    )
}
