"""Turns flags and presets into one plain, validated configuration, for all models.

fairseq hands a model an ``argparse.Namespace`` (training) or what a checkpoint holds. Models are
registered without ``dataclass=``, and their flags are read from a dataclass explicitly. Only in
this way can several named architectures share a model in both fairseq distributions.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Mapping
from dataclasses import fields
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from ..flags import flag_name
from .constraints import CheckedConfig

ConfigT = TypeVar("ConfigT", bound=CheckedConfig)


def add_flags(parser: argparse.ArgumentParser, config: type[CheckedConfig]) -> None:
    """Adds one flag for each field of `config`, without defaults, so that presets can set them.

    A negatable field has ``--no-NAME`` too; of both, the last on the command line holds.
    """
    types = get_type_hints(config)
    for field in fields(config):
        flag, kind, text = flag_name(field.name), types[field.name], field.metadata["help"]
        kind = next((part for part in get_args(kind) if part is not NoneType), kind)
        form: dict[str, Any] = {"action": "store_true"} if kind is bool else {"type": kind}
        # fairseq's task, which was first, may have the flag too
        with contextlib.suppress(argparse.ArgumentError):
            parser.add_argument(flag, help=text, **form)
        if field.metadata["negatable"]:
            name = flag.removeprefix("--")
            help_text = f"switch {flag} off, where the architecture has it"
            parser.add_argument(
                f"--no-{name}", dest=field.name, action="store_false", help=help_text
            )


def defaults(config: type[CheckedConfig]) -> dict[str, Any]:
    """Returns the default of every field of `config`."""
    return {field.name: field.default for field in fields(config)}


def read_config(args: Any, config: type[ConfigT]) -> ConfigT:
    """Returns the dataclass `config` with the values of `args`, and defaults for the rest."""
    result = config()
    for name in defaults(config):
        value = value_of(args, name)
        if value is not None:
            setattr(result, name, value)
    return result


def value_of(args: Any, name: str) -> Any:
    """Returns a setting of a command line's namespace, or of a checkpoint's mapping."""
    return args.get(name) if isinstance(args, Mapping) else getattr(args, name, None)
