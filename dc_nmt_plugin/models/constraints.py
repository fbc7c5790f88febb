"""Allowed values of flags: declared with the field, checked in one place for every model."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any

from ..errors import ConfigError, choice_problem
from ..flags import flag_name


def flag(
    default: Any,
    text: str,
    *,
    one_of: Collection[str] = (),
    refused: Mapping[str, str] | None = None,
    at_least: float | None = None,
    below: float | None = None,
    negatable: bool = False,
    setting: str = "",
) -> Any:
    """Returns a field of a configuration, which is also a flag.

    Args:
        default: value without the flag
        text: its help; the choices are added to it
        one_of: the valid values, if they can be listed
        refused: other plausible values → the reason why they are not valid
        at_least: the smallest valid value
        below: upper bound, exclusive; with `at_least`
        negatable: an architecture may set it, and ``--no-NAME`` then switches it off
        setting: for an option of a part of the model: the model's setting that is its default
    """
    if one_of:
        text = f"{text}; one of {', '.join(one_of)}"
    valid = {"one_of": one_of, "refused": refused or {}, "at_least": at_least, "below": below}
    about = {"help": text, "negatable": negatable, "setting": setting}
    return field(default=default, metadata={**about, **valid})


def size(default: int, text: str, *, setting: str = "") -> Any:
    """Returns a :func:`flag` for a count of 1 or more."""
    return flag(default, text, at_least=1, setting=setting)


def rate(default: float, text: str) -> Any:
    """Returns a :func:`flag` for a probability below 1."""
    return flag(default, text, at_least=0, below=1)


@dataclass
class CheckedConfig:
    """Base of model settings; subclasses add fields made by :func:`flag`."""

    def check(self) -> None:
        """
        Raises:
            ConfigError: listing everything that is wrong
        """
        problems = dict.fromkeys([*wrong_values(self), *self.contradictions()])
        if problems:
            raise ConfigError(problems)

    def contradictions(self) -> list[str]:
        """Returns one sentence for each contradiction between fields.

        Wrong single values are reported elsewhere; do not report them again.
        """
        return []


def wrong_values(config: Any, name: Callable[[str], str] = flag_name) -> list[str]:
    """Returns a sentence for each field, made by :func:`flag`, whose value is not valid.

    Args:
        config: a dataclass
        name: what a field is called in messages
    """
    found = (_problem(each, getattr(config, each.name), name(each.name)) for each in fields(config))
    return [problem for problem in found if problem]


def _problem(option: Field[Any], value: Any, name: str) -> str | None:
    """Returns what is wrong with the value of a field; None if it is valid."""
    valid = option.metadata
    lowest, below = valid["at_least"], valid["below"]
    if value is None:
        return None
    if value in valid["refused"]:
        return f"{name}: {value} {valid['refused'][value]}."
    if valid["one_of"]:
        return choice_problem(name, value, valid["one_of"])
    if below is not None and not lowest <= value < below:
        return f"{name}: {value} is not in [{lowest}, {below})."
    if lowest is not None and not value >= lowest:
        return f"{name}: {value} is not at least {lowest}."
    return None
