"""Allowed values of flags: declared with the field, checked in one place for every model."""

from collections.abc import Collection, Mapping
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
    """
    if one_of:
        text = f"{text}; one of {', '.join(one_of)}"
    valid = {"one_of": one_of, "refused": refused or {}, "at_least": at_least, "below": below}
    return field(default=default, metadata={"help": text, "negatable": negatable, **valid})


def size(default: int, text: str) -> Any:
    """Returns a :func:`flag` for a count of 1 or more."""
    return flag(default, text, at_least=1)


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
        problems = [*_wrong_values(self), *self.contradictions()]
        if problems:
            raise ConfigError(problems)

    def contradictions(self) -> list[str]:
        """Returns one sentence for each contradiction between fields.

        Wrong single values are reported elsewhere; do not report them again.
        """
        return []


def _wrong_values(config: CheckedConfig) -> list[str]:
    found = (_problem(each, getattr(config, each.name)) for each in fields(config))
    return [problem for problem in found if problem]


def _problem(option: Field[Any], value: Any) -> str | None:
    """Returns what is wrong with the value of a field; None if it is valid."""
    valid = option.metadata
    lowest, below = valid["at_least"], valid["below"]
    if value is None:
        return None
    if value in valid["refused"]:
        return f"{flag_name(option.name)}: {value} {valid['refused'][value]}."
    if valid["one_of"]:
        return choice_problem(flag_name(option.name), value, valid["one_of"])
    if below is not None and not lowest <= value < below:
        return f"{flag_name(option.name)}: {value} is not in [{lowest}, {below})."
    if lowest is not None and not value >= lowest:
        return f"{flag_name(option.name)}: {value} is not at least {lowest}."
    return None
