"""Flags of models: fields of a dataclass, with their help and allowed values.

fairseq hands a model an ``argparse.Namespace`` (training) or what a checkpoint holds. Models are
registered without ``dataclass=``, and their flags are read from a dataclass explicitly. Only in
this way can several named architectures share a model in both fairseq distributions.
"""

import argparse
import contextlib
from collections.abc import Collection, Iterable
from dataclasses import Field, dataclass, field, fields
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from ..errors import ConfigError, choice_problem
from ..flags import flag_name, value_of

ConfigT = TypeVar("ConfigT", bound="CheckedConfig")


def flag(
    default: Any,
    text: str,
    *,
    one_of: Collection[str] = (),
    at_least: float | None = None,
    below: float | None = None,
    negatable: bool = False,
) -> Any:
    """Returns a field of a configuration, which is also a flag.

    Args:
        default: value without the flag
        text: its help; the choices are added to it
        one_of: the valid values, if they can be listed
        at_least: the smallest valid value
        below: upper bound, exclusive; with `at_least`
        negatable: an architecture may set it, and ``--no-NAME`` then switches it off
    """
    if one_of:
        text = f"{text}; one of {', '.join(one_of)}"
    valid = {"one_of": one_of, "at_least": at_least, "below": below}
    return field(default=default, metadata={"help": text, "negatable": negatable, **valid})


def size(default: int, text: str) -> Any:
    """Returns a :func:`flag` for a count of 1 or more."""
    return flag(default, text, at_least=1)


def rate(default: float, text: str) -> Any:
    """Returns a :func:`flag` for a probability below 1."""
    return flag(default, text, at_least=0, below=1)


def value_problem(option: Field[Any], value: Any, name: str) -> str | None:
    """Returns a sentence on what is wrong with a value of a :func:`flag`, called `name`; or None.

    The value None is valid everywhere.
    """
    choices, lowest, below = (option.metadata[key] for key in ("one_of", "at_least", "below"))
    if value is None:
        return None
    if choices:
        return choice_problem(name, value, choices)
    if lowest is None:
        return None
    if not isinstance(value, int | float):  # in a checkpoint that somebody changed
        return f"{name}: {value!r} is not a number."
    if below is not None and not lowest <= value < below:
        return f"{name}: {value} is not in [{lowest}, {below})."
    return None if value >= lowest else f"{name}: {value} is not at least {lowest}."


@dataclass
class CheckedConfig:
    """Base of model settings; subclasses add fields made by :func:`flag`."""

    def check(self) -> None:
        """
        Raises:
            ConfigError: listing everything that is wrong
        """
        problems = []
        for each in fields(self):
            problem = value_problem(each, getattr(self, each.name), flag_name(each.name))
            if problem:
                problems.append(problem)
        problems = problems or list(self.contradictions())
        if problems:
            raise ConfigError(dict.fromkeys(problems))  # each once

    def contradictions(self) -> Iterable[str]:
        """Returns one sentence for each contradiction between fields, of which each is valid."""
        return []


def add_flags(parser: argparse.ArgumentParser, config: type[CheckedConfig]) -> None:
    """Adds one flag for each field of `config`, without defaults, so that presets can set them.

    A negatable field has ``--no-NAME`` too; of both, the last on the command line holds.
    """
    types = get_type_hints(config)
    for each in fields(config):
        name = flag_name(each.name)
        kind = types[each.name]
        for part in get_args(kind):  # of Optional[X]: X
            if part is not NoneType:
                kind = part
        options: dict[str, Any] = {"action": "store_true"} if kind is bool else {"type": kind}
        # fairseq's task, which was first, may have the flag too
        with contextlib.suppress(argparse.ArgumentError):
            parser.add_argument(name, help=each.metadata["help"], **options)
        if each.metadata["negatable"]:
            parser.add_argument(
                f"--no-{name.removeprefix('--')}",
                dest=each.name,
                action="store_false",
                help=f"switch {name} off, where the architecture has it",
            )


class Configured:
    """Base of models whose flags are the fields of a dataclass, their `config_class`."""

    config_class: type[CheckedConfig]

    @classmethod
    def add_args(cls, parser: argparse.ArgumentParser) -> None:
        """Adds the flags."""
        add_flags(parser, cls.config_class)


def defaults(config: type[CheckedConfig]) -> dict[str, Any]:
    """Returns the default of every field of `config`."""
    return {each.name: each.default for each in fields(config)}


def read_config(args: Any, config: type[ConfigT]) -> ConfigT:
    """Returns the dataclass `config` with the values of `args`, and defaults for the rest."""
    result = config()
    for name in defaults(config):
        value = value_of(args, name)
        if value is not None:
            setattr(result, name, value)
    return result
