"""Every architecture as data: name → settings, with its citation. It is read without torch."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..options import CheckedConfig, defaults
from ..recurrent.config import GRU, LANGUAGE_MODEL, GRUConfig, LanguageModelConfig
from ..transformer.config import MODEL_NAME as TRANSFORMER
from ..transformer.config import TransformerConfig
from . import recurrent, transformer
from .family import Family
from .transformer import SIZES

FAMILIES = (*transformer.FAMILIES, *recurrent.FAMILIES)

# registered model name → the dataclass of its flags
_CONFIGS: dict[str, type[CheckedConfig]] = {
    TRANSFORMER: TransformerConfig,
    GRU: GRUConfig,
    LANGUAGE_MODEL: LanguageModelConfig,
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

    @property
    def config(self) -> type[CheckedConfig]:
        """Returns the dataclass of the model's flags."""
        return _CONFIGS[self.model]

    def all_settings(self) -> dict[str, Any]:
        """Returns every setting of the model, with its defaults."""
        return {**defaults(self.config), **self.settings}


@functools.cache
def architectures() -> Mapping[str, Architecture]:
    """Returns every architecture by name, ordered by family, variant and size."""
    result = {}
    for family in FAMILIES:
        for variant, settings in family.variants.items():
            for size, dimensions in family.sizes.items():
                name = "_".join(part for part in (family.name, variant, size) if part)
                merged = {**dimensions, **settings}
                # auxiliary decoders stand on layers below the top one, which small sizes lack
                highest = int(merged.get("aux_layers", "0").rpartition(",")[2])
                if highest < merged.get("encoder_layers", 1):
                    result[name] = Architecture(name, family.model, merged, family)
    return MappingProxyType(result)


__all__ = ["FAMILIES", "SIZES", "Architecture", "Family", "architectures"]
