"""Settings of models, which are also flags, with their help and valid values.

fairseq hands a model an ``argparse.Namespace`` (training) or what a checkpoint holds. Models are
registered without ``dataclass=``, and their settings are read explicitly. Only in this way can
several named architectures share a model in both fairseq distributions.
"""

import argparse
import contextlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from ..errors import ConfigError
from ..flags import flag_name, value_of
from ..modules.mechanisms import Option

ConfigT = TypeVar("ConfigT", bound="CheckedConfig")


@dataclass(frozen=True)
class ModelSetting(Option):
    """A setting of a model."""

    kind: type = str  # type of its values: bool, int, float or str
    negatable: bool = False  # an architecture may set it, and --no-NAME then switches it off


def flag(
    default: Any,
    text: str,
    *,
    one_of: Collection[str] | Callable[[], Collection[str]] = (),
    at_least: float | None = None,
    below: float | None = None,
    negatable: bool = False,
) -> Any:
    """Returns a :class:`ModelSetting` for the body of a configuration: this gives name and type."""
    return ModelSetting("", default, text, one_of, at_least, below, negatable=negatable)


def size(default: int, text: str) -> Any:
    """Returns a :func:`flag` for a count of 1 or more."""
    return flag(default, text, at_least=1)


def rate(default: float, text: str) -> Any:
    """Returns a :func:`flag` for a probability below 1."""
    return flag(default, text, at_least=0, below=1)


class CheckedConfig:
    """Base of the settings of models; subclasses have annotated settings made by :func:`flag`.

    Args:
        values: of settings; the others have their defaults

    Raises:
        TypeError: the model has no such setting
    """

    def __init__(self, **values: Any) -> None:
        settings = self.settings()
        unknown = [name for name in values if name not in settings]
        if unknown:
            raise TypeError(f"{type(self).__name__} has no setting {unknown[0]!r}")
        for name, setting in settings.items():
            setattr(self, name, values.get(name, setting.default))

    @classmethod
    def settings(cls) -> dict[str, ModelSetting]:
        """Returns every setting by name, in the order of the flags."""
        settings = {}
        # the bases' come first; a subclass may declare one of them anew
        for name, annotation in get_type_hints(cls).items():
            kinds = [kind for kind in get_args(annotation) if kind is not NoneType]  # of X | None
            kind = kinds[0] if kinds else annotation
            settings[name] = replace(getattr(cls, name), name=name, kind=kind)
        return settings

    def check(self) -> None:
        """
        Raises:
            ConfigError: listing everything that is wrong
        """
        problems = []
        for name, setting in self.settings().items():
            problem = setting.problem(getattr(self, name), flag_name(name))
            if problem:
                problems.append(problem)
        problems = problems or list(self.contradictions())
        if problems:
            raise ConfigError(dict.fromkeys(problems))  # each once

    def contradictions(self) -> Iterable[str]:
        """Returns one sentence for each contradiction between settings, of which each is valid."""
        return []


def add_flags(parser: argparse.ArgumentParser, config: type[CheckedConfig]) -> None:
    """Adds one flag for each setting of `config`, without defaults, so that presets can set them.

    A negatable setting has ``--no-NAME`` too; of both, the last on the command line holds.
    """
    for setting in config.settings().values():
        name = flag_name(setting.name)
        switch = setting.kind is bool
        options: dict[str, Any] = {"action": "store_true"} if switch else {"type": setting.kind}
        text = setting.help
        if setting.choices:
            text = f"{text}; one of {', '.join(setting.choices)}"
        # fairseq's task, which was first, may have the flag too
        with contextlib.suppress(argparse.ArgumentError):
            parser.add_argument(name, help=text, **options)
        if setting.negatable:
            parser.add_argument(
                f"--no-{name.removeprefix('--')}",
                dest=setting.name,
                action="store_false",
                help=f"switch {name} off, where the architecture has it",
            )


class Configured:
    """Base of models whose flags are the settings of their `config_class`."""

    config_class: type[CheckedConfig]

    @classmethod
    def add_args(cls, parser: argparse.ArgumentParser) -> None:
        """Adds the flags."""
        add_flags(parser, cls.config_class)


def defaults(config: type[CheckedConfig]) -> dict[str, Any]:
    """Returns the default of every setting of `config`."""
    return {name: setting.default for name, setting in config.settings().items()}


def read_config(args: Any, config: type[ConfigT]) -> ConfigT:
    """Returns a `config` with the values of `args`, and defaults for the rest."""
    result = config()
    for name in config.settings():
        value = value_of(args, name)
        if value is not None:
            setattr(result, name, value)
    return result
