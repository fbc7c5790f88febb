"""Makes a process that starts others by forking quick at reading fairseq's command lines."""

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

STOCK_COMPOSE = utils.compose


class Pickler(pickle.Pickler):
    """Keeps fairseq's enumerations, which have no name, as their values."""

    def persistent_id(self, thing: Any) -> Any:
        nameless = isinstance(thing, type) and issubclass(thing, StrEnum)
        return tuple(each.value for each in thing) if nameless else None


class Unpickler(pickle.Unpickler):
    persistent_load = staticmethod(functools.cache(ChoiceEnum))


def _without_a_copy(self: CachingConfigRepository, delegate: Any) -> None:
    """Nobody changes Hydra's configurations, which it would copy for each command line."""
    self.delegate = delegate
    self.cache = {}


def compose_once() -> None:
    """Make the tests' processes compose no configuration twice; its folder is in ``COMPOSED``.

    fairseq hands Hydra each of a command line's hundreds of settings as text, which is most of a
    tiny command's time. Nearly all are the same in every command.
    """
    utils.initialize = lambda config_path: contextlib.nullcontext()
    utils.compose = functools.partial(compose, Path(os.environ["COMPOSED"]))
    CachingConfigRepository.__init__ = _without_a_copy
    # what Hydra's grammar learns of the kinds of values, no forked process learns again
    parse = OverridesParser.create().parse_overrides
    parse(["a.b=null", "a.b=True", "a.b=-1", "a.b=0.5", "a.b='c d/e'", "a.b=[1,2.5]", "a=b_c"])


def compose(store: Path, name: str, overrides: Sequence[str], strict: bool) -> Any:
    """As Hydra's, from what it made of the same groups (task, model, …) before, if it has.

    Args:
        store: folder for what is made
        name: of the configuration
        overrides: ``GROUP=CHOICE`` and ``GROUP.SETTING=VALUE``
        strict: whether unknown settings are refused
    """
    values = dict(each.split("=", 1) for each in overrides)
    groups = [(key, value) for key, value in values.items() if "." not in key]
    # fairseq alone has a store of its own
    about = repr((name, strict, groups, "dc_nmt_plugin" in sys.modules))
    path = store / hashlib.sha256(about.encode()).hexdigest()
    if path.exists():
        with open(path, "rb") as file:
            before, config = Unpickler(file).load()
        changed = [f"{key}={value}" for key, value in values.items() if before.get(key) != value]
        if before.keys() == values.keys():
            parsed = OverridesParser.create().parse_overrides(changed)
            if not any(isinstance(each.value(), dict) for each in parsed):  # it would be merged
                ConfigLoaderImpl._apply_overrides_to_config(parsed, config)
                return config
    with initialize_config_dir(str(Path(fairseq.__file__).parent / "config")):
        config = STOCK_COMPOSE(name, overrides=list(overrides), strict=strict)
    part = path.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):  # a test may limit the size of files
        with open(part, "wb") as file:
            Pickler(file).dump((values, config))
        part.replace(path)
    return config
