"""The class of every model; importing this file registers every architecture with fairseq."""

from __future__ import annotations

from typing import Any

from fairseq.models import ARCH_MODEL_REGISTRY, register_model_architecture
from hydra.core.config_store import ConfigStore

from .. import tasks as tasks
from ..errors import ConfigError
from .options import defaults, value_of
from .presets import Architecture, architectures
from .recurrent.config import GRU, LANGUAGE_MODEL
from .recurrent.language_model import LSTMLanguageModel
from .recurrent.model import GRUModel
from .transformer.config import MODEL_NAME as TRANSFORMER
from .transformer.model import TransformerModel

# registered model name → its class
MODELS: dict[str, Any] = {
    TRANSFORMER: TransformerModel,
    GRU: GRUModel,
    LANGUAGE_MODEL: LSTMLanguageModel,
}


def _register_architecture(architecture: Architecture) -> None:
    """Registers ``--arch``: absent flags get its settings, then the defaults of its model.

    fairseq may apply an architecture more than once (parsing, building, loading), so existing
    values stay. All defaults are written, so that a checkpoint holds its whole configuration.

    Raises:
        ConfigError: a setting that the model does not have
    """
    known, settings = defaults(architecture.config), architecture.settings
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise ConfigError([f"preset {architecture.name}: {name} is no setting" for name in unknown])
    if architecture.name in ARCH_MODEL_REGISTRY:  # the package was imported under a second name
        return

    def apply(args: Any) -> None:
        for name, value in {**known, **settings}.items():
            if value_of(args, name) is None and value is not None:
                setattr(args, name, value)

    register_model_architecture(architecture.model, architecture.name)(apply)


def store_for_hydra() -> None:
    """Stores every architecture for Hydra as ``model=NAME``, with all of its settings.

    fairseq itself stores tasks and criterions, because they have a dataclass.
    """
    store = ConfigStore.instance()
    for architecture in architectures().values():
        values = {**defaults(architecture.config), **architecture.settings}
        node = {"_name": architecture.name, **values}
        store.store(group="model", name=architecture.name, node=node, provider="dc_nmt_plugin")


for each in architectures().values():
    _register_architecture(each)
