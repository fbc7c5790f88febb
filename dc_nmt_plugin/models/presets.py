"""Every architecture as data: name → settings, with its citation and published numbers.

The only place where the papers' numbers stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ConfigError
from .options import register_preset
from .transformer.config import SOURCE_FEATURES, TransformerConfig
from .transformer.model import MODEL_NAME as TRANSFORMER
from .transformer.model import TransformerModel

Settings = Mapping[str, Any]

# registered model name → its class and the dataclass of its flags
MODELS: dict[str, tuple[Any, Any]] = {TRANSFORMER: (TransformerModel, TransformerConfig)}


def _size(layers: int, width: int, ffn: int, heads: int) -> dict[str, Any]:
    return {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (
            ("layers", layers),
            ("embed_dim", width),
            ("ffn_embed_dim", ffn),
            ("attention_heads", heads),
        )
    }


# name of a size → settings; "" is the base size of Vaswani et al. 2017
SIZES: dict[str, dict[str, Any]] = {
    "": {**_size(6, 512, 2048, 8), "share_all_embeddings": True},
    "big": {**_size(6, 1024, 4096, 16), "dropout": 0.3, "share_all_embeddings": True},
    "iwslt": {**_size(4, 256, 1024, 4), "share_all_embeddings": True},  # thesis ch. 3, 4
    "iwslt_ff512": {**_size(4, 256, 512, 4), "share_all_embeddings": True},  # thesis Table 5.1
    "tiny": {**_size(4, 128, 256, 4), "dropout": 0.3, "share_all_embeddings": True},
    "micro": {**_size(2, 128, 256, 4), "share_all_embeddings": True},  # the quickstart
}


@dataclass(frozen=True)
class Family:
    """One paper's architecture.

    Attributes:
        name: of the architecture, its criterion and its task
        cites: where it is published (key in REFERENCES.bib, and section)
        variants: suffix → settings on top of a size; "" is the default variant
        criterion, task: registered names
    """

    name: str
    cites: str
    variants: dict[str, dict[str, Any]]
    criterion: str
    task: str


_DC = "dual_context"
_CTX = "context_aware"
_XAGG = "cross_aggregation"


def _context(context: str, *sides: str) -> dict[str, Any]:
    return {**{f"{side}_self_attention": _CTX for side in sides}, "ctx_context": context}


TRANSFORMERS = (
    Family(
        name="transformer_standard",
        cites="vaswani2017attention",
        variants={"": {}},
        criterion="joint_label_smoothed_cross_entropy",
        task="translation_dc_nmt",
    ),
    Family(
        name="transformer_dc",
        cites="ampomah2021dual, section 4; ampomah2021thesis, chapter 5",
        variants={
            "": {"encoder_self_attention": _DC},  # Enc-DC, the papers' recommendation
            "dec": {"decoder_self_attention": _DC},
            "full": {"encoder_self_attention": _DC, "decoder_self_attention": _DC},
        },
        criterion="transformer_dc",
        task="transformer_dc",
    ),
    Family(
        name="transformer_ctxaware",
        cites="yang2019context, Tables 1 and 3",
        variants={
            "": _context("deep-global+deep", "encoder"),  # the paper's best
            "global": _context("global", "encoder"),
            "deep_global": _context("deep-global", "encoder"),
            "deep": _context("deep", "encoder"),
            "dec_deep_global": _context("deep-global", "decoder"),
            "dec": _context("deep-global+deep", "decoder"),
            "full": _context("deep-global+deep", "encoder", "decoder"),
            "queries": {**_context("deep-global+deep", "encoder"), "ctx_on": "queries"},
            "keys": {**_context("deep-global+deep", "encoder"), "ctx_on": "keys"},
        },
        criterion="transformer_ctxaware",
        task="transformer_ctxaware",
    ),
    Family(
        name="transformer_cross_agg",
        cites="cao2020cross",
        variants={
            "": {"encoder_self_attention": _XAGG},
            "self": {"encoder_self_attention": _XAGG, "xagg_init": "self"},
            "horizontal": {"encoder_self_attention": _XAGG, "xagg_routing": "horizontal"},
            "horizontal_self": {
                "encoder_self_attention": _XAGG,
                "xagg_routing": "horizontal",
                "xagg_init": "self",
            },
            "vertical": {"encoder_self_attention": _XAGG, "xagg_routing": "vertical"},
        },
        criterion="transformer_cross_agg",
        task="transformer_cross_agg",
    ),
    Family(
        name="transformer_mlmha",
        cites="ampomah2021thesis, chapter 3",
        variants={
            "": {"source_features": "m-10"},  # the thesis's best
            **{
                name.replace("-", "_"): {"source_features": name}
                for name in SOURCE_FEATURES
                if name not in ("top", "m-10")
            },
        },
        criterion="transformer_mlmha",
        task="transformer_mlmha",
    ),
    Family(
        name="transformer_ms_aux",
        cites="ampomah2021thesis, chapter 4",
        variants={
            "": {"aux_layers": "1"},  # MS-1
            "aif": {"aux_layers": "1", "aux_fusion": True},
            "13": {"aux_layers": "1,3"},
            "13_aif": {"aux_layers": "1,3", "aux_fusion": True},
            "123": {"aux_layers": "1,2,3"},
            "123_aif": {"aux_layers": "1,2,3", "aux_fusion": True},
            "3": {"aux_layers": "3"},
            "3_aif": {"aux_layers": "3", "aux_fusion": True},
        },
        criterion="transformer_ms_aux",
        task="transformer_ms_aux",
    ),
)


@dataclass(frozen=True)
class Architecture:
    """One value of ``--arch``.

    Attributes:
        name: the value
        model: registered model name
        settings: what differs from the model's defaults
        family: the paper's architecture it belongs to
    """

    name: str
    model: str
    settings: dict[str, Any]
    family: Family


def architectures() -> dict[str, Architecture]:
    """Every architecture by name: family, then variant, then size."""
    result = {}
    for family in TRANSFORMERS:
        for variant, settings in family.variants.items():
            for size, dimensions in SIZES.items():
                name = "_".join(part for part in (family.name, variant, size) if part)
                if not _fits({**dimensions, **settings}):
                    continue
                result[name] = Architecture(name, TRANSFORMER, {**dimensions, **settings}, family)
    return result


def _fits(settings: Settings) -> bool:
    """Whether a variant exists at a size: auxiliary decoders need enough encoder layers."""
    cfg = TransformerConfig()
    for name, value in settings.items():
        setattr(cfg, name, value)
    try:
        cfg.check()
    except ConfigError:
        return False
    return True


def register_all() -> None:
    """Register every architecture with fairseq."""
    for architecture in architectures().values():
        register_preset(
            architecture.model,
            architecture.name,
            MODELS[architecture.model][1],
            architecture.settings,
        )


@dataclass(frozen=True)
class ParameterTable:
    """A published table of parameter counts.

    Attributes:
        source: where it stands
        arch: architecture that the rows change
        baseline: row name and millions of parameters of the plain Transformer; papers leave the
            exact vocabulary out, so it is fitted to this number
        rows: row name → (settings on top of `arch`, published millions)
        tolerance: the largest relative difference accepted
        exceptions: row name → another tolerance, with the reason in `notes`
        common: settings of every row, the baseline's too
        vocabulary: types of the dictionary where the paper gives them; None: fit the baseline
        notes: row name → what is to be known about the published number
    """

    source: str
    arch: str
    baseline: tuple[str, float]
    rows: dict[str, tuple[Settings, float]]
    tolerance: float
    common: Settings = field(default_factory=dict)
    vocabulary: int | None = None
    exceptions: dict[str, float] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)


# source features → millions of parameters for n = 2 … 6
_THESIS_TABLE_3_4 = {
    "s-agg": (61.8, 62.1, 62.3, 62.6, 62.8),
    "iter-s-agg": (61.8, 62.3, 62.8, 63.4, 63.9),
    "c-agg": (64.4, 65.5, 66.5, 67.6, 68.6),
    "iter-c-agg": (64.4, 67.6, 70.7, 73.9, 77.0),
    "m-00": (67.5, 73.8, 80.2, 86.4, 92.7),
    "m-01": (66.0, 70.7, 75.4, 80.2, 84.9),
    "m-10": (67.5, 73.8, 80.2, 86.4, 92.7),
    "m-11": (66.0, 70.7, 75.4, 80.2, 84.9),
}

PARAMETER_TABLES = (
    ParameterTable(
        source="Dual contextual module, Table 1 (WMT'14 En-De)",
        arch="transformer_standard",
        baseline=("Transformer", 61.2),
        rows={
            "Enc-DC": ({"encoder_self_attention": _DC}, 73.86),
            "Dec-DC": ({"decoder_self_attention": _DC}, 73.86),
            "Full-DC": ({"encoder_self_attention": _DC, "decoder_self_attention": _DC}, 86.5),
        },
        tolerance=0.0015,
    ),
    ParameterTable(
        source="Context-aware self-attention, Table 1 (WMT'14 En-De, base, nothing shared)",
        arch="transformer_standard",
        baseline=("Transformer", 88.0),
        common={"share_all_embeddings": False},
        rows={
            "encoder, global": (_context("global", "encoder"), 91.0),
            "encoder, deep-global": (_context("deep-global", "encoder"), 99.0),
            "encoder, deep": (_context("deep", "encoder"), 95.9),
            "encoder, deep-global+deep": (_context("deep-global+deep", "encoder"), 106.9),
            "decoder, deep-global": (_context("deep-global", "decoder"), 99.0),
            "decoder, deep-global+deep": (_context("deep-global+deep", "decoder"), 106.9),
            "both, deep-global+deep": (_context("deep-global+deep", "encoder", "decoder"), 125.8),
        },
        tolerance=0.0009,
        exceptions={"encoder, global": 0.0022},
        notes={"encoder, global": "printed +3.0; the formula gives +3.16"},
    ),
    ParameterTable(
        source="Thesis, Table 3.4 (WMT'14 En-De)",
        arch="transformer_standard",
        baseline=("Transformer", 61.2),
        rows={
            f"{name}, n={n}": ({"source_features": name, "source_layers": n}, millions)
            for name, row in _THESIS_TABLE_3_4.items()
            for n, millions in zip(range(2, 7), row, strict=True)
        },
        tolerance=0.003,
        notes={"iter-s-agg, n=6": "Table 3.4 prints 63.4, n=5's number; Table 3.2 has 63.9"},
    ),
    ParameterTable(
        source="Thesis, Table 4.6a (IWSLT'15 En-Vi)",
        arch="transformer_standard_iwslt",
        baseline=("Transformer", 12.8),
        rows={
            f"{len(layers.split(','))} auxiliary{' + AIF' if fused else ''}": (
                {"aux_layers": layers, "aux_fusion": fused},
                millions,
            )
            for layers, fused, millions in (
                ("1", False, 17.0),
                ("1", True, 17.3),
                ("1,3", False, 21.2),
                ("1,3", True, 21.7),
                ("1,2,3", False, 25.4),
                ("1,2,3", True, 26.2),
            )
        },
        tolerance=0.005,
    ),
)
