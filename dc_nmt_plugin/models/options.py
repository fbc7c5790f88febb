"""Turns fairseq's flags and presets into one plain, validated configuration, for all models.

fairseq hands a model an ``argparse.Namespace`` (training) or what a checkpoint holds. Models are
registered without ``dataclass=``, and their flags are read from a dataclass explicitly. Only in
this way can several named architectures share a model in both fairseq distributions.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from fairseq.dataclass import FairseqDataclass
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import ARCH_MODEL_REGISTRY, register_model_architecture

from ..errors import ConfigError

ConfigT = TypeVar("ConfigT", bound=FairseqDataclass)


def add_flags(parser: argparse.ArgumentParser, config: type[FairseqDataclass]) -> None:
    """Adds one flag for each field of `config`, without defaults, so that presets can set them.

    A negatable field has ``--no-NAME`` too; of both, the last on the command line holds.
    """
    gen_parser_from_dataclass(parser, config(), delete_default=True)
    for field in fields(config):
        if field.metadata.get("negatable"):
            name = field.name.replace("_", "-")
            help_text = f"switch --{name} off, where the architecture has it"
            parser.add_argument(
                f"--no-{name}", dest=field.name, action="store_false", help=help_text
            )


def defaults(config: type[FairseqDataclass]) -> dict[str, Any]:
    """Returns the default of every field of `config`, without fairseq's internal field `_name`."""
    values: dict[str, Any] = {}
    for field in fields(config):
        if field.name == "_name":
            continue
        if field.default is not MISSING:
            values[field.name] = field.default
        elif field.default_factory is not MISSING:
            values[field.name] = field.default_factory()
    return values


def read_config(args: Any, config: type[ConfigT]) -> ConfigT:
    """Returns the dataclass `config` with the values of `args`, and defaults for the rest."""
    result = config()
    for name in defaults(config):
        value = _get(args, name)
        if value is not None:
            setattr(result, name, value)
    return result


def _get(args: Any, name: str) -> Any:
    # a Namespace from the command line, a DictConfig or a dict from a checkpoint
    return args.get(name) if isinstance(args, Mapping) else getattr(args, name, None)


def register_preset(
    model_name: str, arch: str, config: type[FairseqDataclass], settings: Mapping[str, Any]
) -> None:
    """Registers ``--arch arch``: absent flags get `settings`, then the defaults of `config`.

    fairseq may apply an architecture more than once (parsing, building, loading), so existing
    values stay. All defaults are written, so that a checkpoint holds its whole configuration.

    Raises:
        ConfigError: a setting that `config` does not have
    """
    unknown = set(settings) - set(defaults(config))
    if unknown:
        raise ConfigError([f"preset {arch}: {name} is no setting" for name in sorted(unknown)])
    if arch in ARCH_MODEL_REGISTRY:  # the package was imported under a second name
        return

    def apply(args: Any) -> None:
        for name, value in {**defaults(config), **settings}.items():
            if _get(args, name) is None and value is not None:
                setattr(args, name, value)

    register_model_architecture(model_name, arch)(apply)
