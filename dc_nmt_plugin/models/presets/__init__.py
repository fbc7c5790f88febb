"""Every architecture as data: name → settings, with its citation. It is read without torch."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ...errors import ConfigError
from ..options import CheckedConfig
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


@functools.cache  # every one of the hundreds is checked
def architectures() -> Mapping[str, Architecture]:
    """Returns every architecture by name, ordered by family, variant and size."""
    result = {}
    for family in FAMILIES:
        for variant, settings in family.variants.items():
            for size, dimensions in family.sizes.items():
                name = "_".join(part for part in (family.name, variant, size) if part)
                merged = {**dimensions, **settings}
                architecture = Architecture(name, family.model, merged, family)
                if _fits(architecture):
                    result[name] = architecture
    return MappingProxyType(result)


def _fits(architecture: Architecture) -> bool:
    """Returns True when a variant exists at a size: auxiliary decoders need enough encoder
    layers."""
    cfg = architecture.config()
    for name, value in architecture.settings.items():
        setattr(cfg, name, value)
    try:
        cfg.check()
    except ConfigError:
        return False
    return True


__all__ = ["FAMILIES", "SIZES", "Architecture", "Family", "architectures"]
