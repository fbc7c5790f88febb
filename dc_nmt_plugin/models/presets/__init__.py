"""Every architecture as data: name → settings, with its citation."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from hydra.core.config_store import ConfigStore

from ...errors import ConfigError
from ..options import defaults, register_preset
from ..recurrent.config import GRUConfig, LanguageModelConfig
from ..recurrent.language_model import MODEL_NAME as LANGUAGE_MODEL
from ..recurrent.language_model import LSTMLanguageModel
from ..recurrent.model import MODEL_NAME as GRU
from ..recurrent.model import GRUModel
from ..transformer.config import TransformerConfig
from ..transformer.model import MODEL_NAME as TRANSFORMER
from ..transformer.model import TransformerModel
from . import recurrent, transformer
from .family import Family, FlagValues
from .transformer import SIZES

FAMILIES = (*transformer.FAMILIES, *recurrent.FAMILIES)

# registered model name → its class and the dataclass of its flags
MODELS: dict[str, tuple[Any, Any]] = {
    TRANSFORMER: (TransformerModel, TransformerConfig),
    GRU: (GRUModel, GRUConfig),
    LANGUAGE_MODEL: (LSTMLanguageModel, LanguageModelConfig),
}


@dataclass(frozen=True)
class Architecture:
    """Describes one value of ``--arch``.

    Attributes:
        name: the value
        model: registered model name
        settings: differences from the defaults of the model
        family: the paper's architecture it belongs to
    """

    name: str
    model: str
    settings: dict[str, Any]
    family: Family


@functools.cache  # every one of the hundreds is checked
def architectures() -> Mapping[str, Architecture]:
    """Returns every architecture by name, ordered by family, variant and size."""
    result = {}
    for family in FAMILIES:
        for variant, settings in family.variants.items():
            for size, dimensions in family.sizes.items():
                name = "_".join(part for part in (family.name, variant, size) if part)
                merged = {**dimensions, **settings}
                if _fits(family.model, merged):
                    result[name] = Architecture(name, family.model, merged, family)
    return MappingProxyType(result)


def _fits(model: str, settings: FlagValues) -> bool:
    """Returns True when a variant exists at a size: auxiliary decoders need enough encoder
    layers."""
    cfg = MODELS[model][1]()
    for name, value in settings.items():
        setattr(cfg, name, value)
    try:
        cfg.check()
    except ConfigError:
        return False
    return True


def register_all() -> None:
    """Registers every architecture with fairseq."""
    for architecture in architectures().values():
        register_preset(
            architecture.model,
            architecture.name,
            MODELS[architecture.model][1],
            architecture.settings,
        )


def store_for_hydra() -> None:
    """Stores every architecture for Hydra as ``model=NAME``, with all of its settings.

    fairseq itself stores tasks and criterions, because they have a dataclass.
    """
    store = ConfigStore.instance()
    for architecture in architectures().values():
        values = {**defaults(MODELS[architecture.model][1]), **architecture.settings}
        node = {"_name": architecture.name, **values}
        store.store(group="model", name=architecture.name, node=node, provider="dc_nmt_plugin")


__all__ = [
    "FAMILIES",
    "MODELS",
    "SIZES",
    "Architecture",
    "Family",
    "architectures",
    "register_all",
    "store_for_hydra",
]
