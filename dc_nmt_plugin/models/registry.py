"""Importing this file registers every model and architecture with fairseq."""

from __future__ import annotations

from typing import Any

from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY, register_model_architecture
from hydra.core.config_store import ConfigStore

from .. import tasks as tasks
from ..flags import MECHANISM_FOLDERS, value_of
from .presets import Architecture, architectures
from .recurrent import model as recurrent
from .transformer import model as transformer

MODELS = (transformer, recurrent)  # imported to be registered


def _register(architecture: Architecture) -> None:
    """Registers ``--arch``: absent flags get its settings, then the defaults of its model.

    fairseq may apply an architecture more than once (parsing, building, loading), so existing
    values stay. All defaults are written, so that a checkpoint holds its whole configuration.
    """

    def apply(args: Any) -> None:
        for name, value in architecture.all_settings().items():
            if value_of(args, name) is None and value is not None:
                setattr(args, name, value)
        if architecture.family.folder:  # a checkpoint names the code that it needs
            setattr(args, MECHANISM_FOLDERS, {architecture.name: architecture.family.folder})

    register_model_architecture(architecture.model, architecture.name)(apply)


def store_for_hydra() -> None:
    """Stores every architecture for Hydra as ``model=NAME``, with all of its settings.

    fairseq itself stores tasks and criterions, because they have a dataclass.
    """
    store = ConfigStore.instance()
    for architecture in architectures().values():
        node = {"_name": architecture.name, **architecture.all_settings()}
        store.store(group="model", name=architecture.name, node=node, provider="dc_nmt_plugin")


def register_all() -> None:
    """Registers every architecture that fairseq does not know yet.

    Raises:
        ValueError: fairseq has one of its own by that name
    """
    for architecture in architectures().values():
        # fairseq refuses a name of its own
        if ARCH_MODEL_REGISTRY.get(architecture.name) is not MODEL_REGISTRY[architecture.model]:
            _register(architecture)


register_all()
