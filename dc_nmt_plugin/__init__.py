"""Published architectures for neural machine translation as a fairseq plugin.

``--user-dir`` imports this package from within fairseq: models, criterions and tasks are then
registered. Elsewhere importing it costs nothing. The public names are imported on first use, such
as ``dc_nmt_plugin.load("RUN").translate(["A dog runs."])``.
"""

import importlib
import logging
import sys
from typing import Any

__version__ = "1.0.0"

# public name → where it is
_PUBLIC = {
    "load": "laboratory.inference.loaded_run:LoadedRun",
    "recording": "modules.core.recording:recording",
    "build": "models.transformer.model:build",
    "TransformerConfig": "models.transformer.config:TransformerConfig",
    "register_self_attention": "extension:register_self_attention",
    "register_source_feature": "extension:register_source_feature",
    "register_architecture": "extension:register_architecture",
    "Option": "modules.mechanisms:Option",
    "Contradiction": "modules.mechanisms:Contradiction",
    "Aggregation": "modules.layer_aggregation:Aggregation",
    "LinearAggregation": "modules.layer_aggregation:LinearAggregation",
    "IterativeAggregation": "modules.layer_aggregation:IterativeAggregation",
    "AttentionToSource": "modules.core.attention:AttentionToSource",
    "SourceAttention": "modules.core.attention:SourceAttention",
    "MultiLayerAttention": "modules.multi_layer_attention:MultiLayerAttention",
    "Source": "modules.core.source:Source",
    "SelfAttention": "modules.core.self_attention:SelfAttention",
    "MultiHeadSelfAttention": "modules.core.self_attention:MultiHeadSelfAttention",
    "DualContextAttention": "modules.dual_context:DualContextAttention",
    "ContextAwareSelfAttention": "modules.context_aware:ContextAwareSelfAttention",
    "CrossAggregationSelfAttention": "modules.cross_aggregation:CrossAggregationSelfAttention",
    "Flow": "modules.core.flow:Flow",
    "SequenceMask": "modules.core.masks:SequenceMask",
    "METRICS": "laboratory.evaluation.metrics:METRICS",
}
__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place, attribute = _PUBLIC[name].split(":")
    level, handlers = logging.root.level, logging.root.handlers[:]
    module = importlib.import_module(f"{__name__}.{place}")
    # fairseq.models.wav2vec calls logging.basicConfig when it is imported
    logging.root.setLevel(level)
    logging.root.handlers[:] = handlers
    return getattr(module, attribute)


def __dir__() -> list[str]:
    return ["__doc__", "__version__", *_PUBLIC]


if "fairseq" in sys.modules:
    from . import registration as registration
