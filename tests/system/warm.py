"""Makes fairseq's programs read their command lines quickly in forks of this process.

fairseq hands Hydra each of a command line's hundreds of settings as text, which is most of a tiny
program's time. Nearly all are the same in every test, so a composed configuration is stored in the
folder ``COMPOSED``, and the next command line changes only the settings that differ.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fairseq
from fairseq.dataclass import utils
from fairseq.dataclass.constants import ChoiceEnum, StrEnum
from hydra import initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository
from hydra.core.override_parser.overrides_parser import OverridesParser

compose_by_hydra = utils.compose


def compose_once() -> None:
    """Replaces Hydra's composition in this process and its forks by :func:`compose`."""
    utils.initialize = lambda config_path: contextlib.nullcontext()
    utils.compose = functools.partial(compose, Path(os.environ["COMPOSED"]))
    CachingConfigRepository.__init__ = _share_configs
    # the parser learns its grammar with the first value of each kind: here, once for all forks
    parse = OverridesParser.create().parse_overrides
    parse(["a.b=null", "a.b=True", "a.b=-1", "a.b=0.5", "a.b='c d/e'", "a.b=[1,2.5]", "a=b_c"])


def _share_configs(self: CachingConfigRepository, delegate: Any) -> None:
    """Hydra copies all its configurations for each command line, but nothing changes them."""
    self.delegate = delegate
    self.cache = {}


def compose(store: Path, name: str, overrides: Sequence[str], strict: bool) -> Any:
    """Returns the configuration that Hydra would compose.

    Args:
        store: folder of composed configurations
        name: of the configuration
        overrides: ``GROUP=CHOICE`` and ``GROUP.SETTING=VALUE``
        strict: whether unknown settings are refused
    """
    values = dict(override.split("=", 1) for override in overrides)
    groups = [(key, value) for key, value in values.items() if "." not in key]
    plugin = "dc_nmt_plugin" in sys.modules  # it adds choices to groups
    digest = hashlib.sha256(repr((name, strict, groups, plugin)).encode()).hexdigest()
    path = store / digest
    config = _from_store(path, values)
    if config is not None:
        return config
    with initialize_config_dir(str(Path(fairseq.__file__).parent / "config")):
        config = compose_by_hydra(name, overrides=list(overrides), strict=strict)
    part = path.with_suffix(f".{os.getpid()}")  # others may read at the same time
    with contextlib.suppress(OSError):  # a test may limit the size of files
        with open(part, "wb") as file:
            Pickler(file).dump((values, config))
        part.replace(path)
    return config


def _from_store(path: Path, values: dict[str, str]) -> Any | None:
    """Returns a stored configuration with these values; None if Hydra has to compose it."""
    if not path.exists():
        return None
    with open(path, "rb") as file:
        stored, config = Unpickler(file).load()
    if stored.keys() != values.keys():
        return None
    changed = [f"{key}={value}" for key, value in values.items() if stored[key] != value]
    parsed = OverridesParser.create().parse_overrides(changed)
    # a mapping would be merged with the stored one
    if any(isinstance(override.value(), dict) for override in parsed):
        return None
    ConfigLoaderImpl._apply_overrides_to_config(parsed, config)
    return config


class Pickler(pickle.Pickler):
    """Stores fairseq's enumerations, which no module has under their name, as their values."""

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, type) and issubclass(obj, StrEnum):
            return tuple(member.value for member in obj)
        return None


class Unpickler(pickle.Unpickler):
    persistent_load = staticmethod(functools.cache(ChoiceEnum))  # of the values
