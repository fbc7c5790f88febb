"""Every architecture as data: name → settings, with its citation. It is read without torch."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..flags import GRU, LANGUAGE_MODEL, TRANSFORMER

if TYPE_CHECKING:
    from .options import CheckedConfig


@dataclass(frozen=True)
class Family:
    """Describes the architecture of one paper."""

    name: str  # also of its criterion and its task, if they are not named below
    about: str  # its change to the usual model, in one line
    cites: str  # publication: key in REFERENCES.bib, and section
    variants: dict[str, dict[str, Any]]  # suffix → settings on top of a size; "": the default
    sizes: dict[str, dict[str, Any]]  # suffix → settings of a size; "" is the published one
    model: str  # registered name, as those below
    criterion: str = ""
    task: str = ""
    folder: str = ""  # from outside this package: for --user-dir

    def __post_init__(self) -> None:
        object.__setattr__(self, "criterion", self.criterion or self.name)
        object.__setattr__(self, "task", self.task or self.name)

    def architectures(self) -> dict[str, Architecture]:
        """Returns its architectures by name, ordered by variant and size."""
        result = {}
        for variant, settings in self.variants.items():
            for size, dimensions in self.sizes.items():
                name = "_".join(part for part in (self.name, variant, size) if part)
                merged = {**dimensions, **settings}
                # auxiliary decoders stand on layers below the top one, which small sizes lack
                highest = int(merged.get("aux_layers", "0").rpartition(",")[2])
                if highest < merged.get("encoder_layers", 1):
                    result[name] = Architecture(name, self.model, merged, self)
        return result


# stock fairseq's, which the same recipes can train as a baseline; flags give its size
STOCK = Family(
    name="transformer",
    about="fairseq's own Transformer",
    cites="vaswani2017attention, as fairseq has it",
    variants={"": {}},
    sizes={"": {}},
    model="transformer",
    criterion="label_smoothed_cross_entropy",
    task="translation_dc_nmt",
)


@dataclass(frozen=True)
class Architecture:
    """Describes one value of ``--arch``."""

    name: str
    model: str  # registered name
    settings: dict[str, Any]  # differences from the defaults of the model
    family: Family

    @property
    def config(self) -> type[CheckedConfig]:
        """Returns the dataclass of the model's flags."""
        # a listing of names, or a plan of a training, need not read all flags
        from .recurrent.config import GRUConfig, LanguageModelConfig
        from .transformer.config import TransformerConfig

        configs: dict[str, type[CheckedConfig]] = {
            TRANSFORMER: TransformerConfig,
            GRU: GRUConfig,
            LANGUAGE_MODEL: LanguageModelConfig,
        }
        return configs[self.model]

    def all_settings(self) -> dict[str, Any]:
        """Returns every setting of the model, with its defaults."""
        from .options import defaults

        return {**defaults(self.config), **self.settings}


def _size(
    layers: int, width: int, ffn: int, heads: int, *, shared: bool = True, **others: Any
) -> dict[str, Any]:
    """Returns the settings of both sides; `shared` is for all embeddings."""
    of_side = {"layers": layers, "embed_dim": width, "ffn_embed_dim": ffn, "attention_heads": heads}
    size = {f"{s}_{name}": n for s in ("encoder", "decoder") for name, n in of_side.items()}
    return {**size, **others, **({"share_all_embeddings": True} if shared else {})}


# name of a size → settings; "" is the base size of Vaswani et al. 2017
SIZES: dict[str, dict[str, Any]] = {
    "": _size(6, 512, 2048, 8),
    "big": _size(6, 1024, 4096, 16, dropout=0.3),
    # embeddings of their own for source, target and output: context-aware's Table 1, Zh-En
    "unshared": _size(6, 512, 2048, 8, shared=False),
    "big_unshared": _size(6, 1024, 4096, 16, dropout=0.3, shared=False),
    "iwslt": _size(4, 256, 1024, 4),  # thesis ch. 3, 4
    "iwslt_ff512": _size(4, 256, 512, 4),  # thesis Table 5.1
    "tiny": _size(4, 128, 256, 4, dropout=0.3),
    "micro": _size(2, 128, 256, 4),  # the quickstart
}

# the mechanisms in the encoder, alone or with more settings
DC = {"encoder_self_attention": "dual_context"}
DC_DECODER = {"decoder_self_attention": "dual_context"}
XAGG = {"encoder_self_attention": "cross_aggregation"}
CTX = {"encoder_self_attention": "context_aware"}
CTX_DECODER = {"decoder_self_attention": "context_aware"}
BOTH = {"ctx_context": "deep-global+deep"}


_family = partial(Family, sizes=SIZES, model=TRANSFORMER)

FAMILIES = [
    _family(
        name="transformer_standard",
        about="the Transformer of Vaswani et al. 2017, equal to fairseq's transformer",
        cites="vaswani2017attention",
        variants={"": {}},
        criterion="joint_label_smoothed_cross_entropy",
        task="translation_dc_nmt",
    ),
    _family(
        name="transformer_dc",
        about="self-attention with a convolution's local context beside the global one",
        cites="ampomah2021dual, section 4; ampomah2021thesis, chapter 5",
        variants={
            "": DC,  # Enc-DC, the papers' recommendation
            "dec": DC_DECODER,
            "full": {**DC, **DC_DECODER},
        },
    ),
    _family(
        name="transformer_ctxaware",
        about="queries and keys mixed with global and lower layers' contexts",
        cites="yang2019context, Tables 1 and 3",
        variants={
            "": {**CTX, **BOTH},  # the paper's best
            "global": {**CTX, "ctx_context": "global"},
            "deep_global": {**CTX, "ctx_context": "deep-global"},
            "deep": {**CTX, "ctx_context": "deep"},
            "dec_deep_global": {**CTX_DECODER, "ctx_context": "deep-global"},
            "dec": {**CTX_DECODER, **BOTH},
            "full": {**CTX, **CTX_DECODER, **BOTH},
            "queries": {**CTX, **BOTH, "ctx_on": "queries"},
            "keys": {**CTX, **BOTH, "ctx_on": "keys"},
        },
    ),
    _family(
        name="transformer_cross_agg",
        about="encoder attention logits, routed over heads and positions",
        cites="cao2019cross",
        variants={
            "": XAGG,
            # the printed weights of the heads (eq. 13); the others' do not depend on length
            "sum": {**XAGG, "xagg_head_weights": "sum"},
            "self": {**XAGG, "xagg_init": "self"},
            "self_sum": {**XAGG, "xagg_init": "self", "xagg_head_weights": "sum"},
            "horizontal": {**XAGG, "xagg_routing": "horizontal"},
            "horizontal_self": {**XAGG, "xagg_routing": "horizontal", "xagg_init": "self"},
            "vertical": {**XAGG, "xagg_routing": "vertical"},
        },
    ),
    _family(
        name="transformer_mlmha",
        about="the decoder attends to several encoder layers, aggregated or each by itself",
        cites="ampomah2021thesis, chapter 3",
        variants={
            "": {"source_features": "m-10"},  # the thesis's best
            "s_agg": {"source_features": "s-agg"},
            "iter_s_agg": {"source_features": "iter-s-agg"},
            "c_agg": {"source_features": "c-agg"},
            "iter_c_agg": {"source_features": "iter-c-agg"},
            "m_00": {"source_features": "m-00"},
            "m_01": {"source_features": "m-01"},
            "m_11": {"source_features": "m-11"},
        },
    ),
    _family(
        name="transformer_ms_aux",
        about="auxiliary decoders on lower encoder layers, a joint loss, optional fusion",
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
    ),
    Family(
        name="gru_selfattn_residual",
        about="a GRU decoder whose output layer sees all earlier words",
        cites="miculicich2018self, sections 3-5, Tables 1 and 4",
        variants={
            "": {"readout": "content"},
            "baseline": {"readout": "baseline"},
            "mean": {"readout": "mean"},
            "scope": {"readout": "content+scope"},
            "memory": {"readout": "memory-rnn"},
            "selfattn": {"readout": "self-attentive-rnn"},
        },
        # "" is the published size (e = 500, d = 1024)
        sizes={
            "": {},
            "iwslt": {"embed_dim": 256, "hidden_dim": 512},
            "tiny": {"embed_dim": 128, "hidden_dim": 256},
        },
        model=GRU,
    ),
    Family(
        name="lstm_lm_selfattn_residual",
        about="an LSTM language model whose output layer sees all earlier words",
        cites="miculicich2018self, Table 6",
        variants={
            "": {"readout": "content"},
            "mean": {"readout": "mean"},
            "scope": {"readout": "content+scope"},
            "baseline": {"readout": "baseline"},
            # Table 6's baseline: the state alone, 300 wide so that all rows have 47 M parameters
            "plain": {"readout": "plain", "embed_dim": 300, "hidden_dim": 300},
        },
        sizes={"": {}},
        model=LANGUAGE_MODEL,
        criterion="gru_selfattn_residual",
        task="language_modeling",
    ),
]


@functools.cache
def architectures() -> Mapping[str, Architecture]:
    """Returns every architecture by name, ordered by family, variant and size."""
    result: dict[str, Architecture] = {}
    for family in FAMILIES:
        result |= family.architectures()
    return MappingProxyType(result)
