"""All analyses, by their names on the command line."""

from __future__ import annotations

from .attention import AttentionSpans
from .base import Report
from .curves import Curves
from .dependency import Dependency
from .divergence import ContextDivergence
from .gates import Gates
from .lengths import LengthGains
from .matrix import Matrix
from .parts_of_speech import PartsOfSpeech
from .previous_words import PreviousWords
from .routing import Routing
from .source_layers import SourceLayers
from .trees import Trees

ANALYSES: dict[str, type[Report]] = {
    kind.name: kind
    for kind in (
        AttentionSpans,
        ContextDivergence,
        Gates,
        PartsOfSpeech,
        Routing,
        SourceLayers,
        Dependency,
        PreviousWords,
        Trees,
        LengthGains,
        Matrix,
        Curves,
    )
}
