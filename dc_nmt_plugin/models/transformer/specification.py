"""Specifications of stacks, layer by layer, for ``--encoder-layers-of``.

A specification is a list of items, from the lowest layer up:

    dual_context(kernel=3)*2 context_aware(context=deep, gate=none)*4

An item is a kind of self-attention, its options in brackets, and after ``*`` how many layers of it
follow each other (1 without). An option that is not given has the value of its flag.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from ...errors import ConfigError, choice_problem
from ..constraints import wrong_values
from .axes import SELF_ATTENTION_KINDS, KindOptions

_ITEM = re.compile(
    r"\s*(?P<item>(?P<kind>[^\s()*]+)\s*(?:\((?P<options>[^()]*)\))?(?:\s*\*\s*(?P<times>[^\s()*]*))?)(?=\s|$)"
)
_SWITCH = {"true": True, "false": False}


@dataclass(frozen=True)
class LayerKind:
    """Describes the self-attention of one layer.

    Attributes:
        kind: a key of :data:`~.axes.SELF_ATTENTION_KINDS`
        options: its options
        given: names of the options that the specification gives
    """

    kind: str
    options: KindOptions
    given: frozenset[str] = frozenset()

    def __str__(self) -> str:
        """Returns the layer as an item of a specification, with every option."""
        values = [f"{name}={_text(value)}" for name, value in vars(self.options).items()]
        return f"{self.kind}({', '.join(values)})" if values else self.kind


def options_of(kind: str, settings: Mapping[str, Any]) -> KindOptions:
    """Returns the options of a kind as the settings (flags) have them for all its layers."""
    options = SELF_ATTENTION_KINDS[kind].options
    return options(**{name: settings[setting] for name, setting in options.settings().items()})


def specification(layers: Collection[LayerKind]) -> str:
    """Returns the specification of a stack, with every option; equal stacks have equal ones."""
    items: list[list[Any]] = []
    for layer in map(str, layers):
        if items and items[-1][0] == layer:
            items[-1][1] += 1
        else:
            items.append([layer, 1])
    return " ".join(item if times == 1 else f"{item}*{times}" for item, times in items)


def read_specification(
    text: str, flag: str, kinds: Collection[str], settings: Mapping[str, Any]
) -> list[LayerKind]:
    """Returns the layers of a specification, lowest first.

    Args:
        text: the specification
        flag: that it was given with, for messages
        kinds: that the side can have
        settings: setting → value, for options that are not given

    Raises:
        ConfigError: everything that is wrong, each with its item
    """
    layers: list[LayerKind] = []
    problems: list[str] = []
    for number, found in enumerate(_items(text, flag), start=1):
        place = f"{flag}, item {number} {found['item']!r}"
        try:
            layers += _layers(found, place, kinds, settings, below=len(layers))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return layers


def _items(text: str, flag: str) -> Iterator[re.Match[str]]:
    position = 0
    while text[position:].strip():
        found = _ITEM.match(text, position)
        if found is None:
            raise ConfigError(
                [
                    f"{flag}: {text[position:].strip()!r} is not a list of layers such as "
                    "'dual_context(kernel=3)*2 standard*4'."
                ]
            )
        yield found
        position = found.end()
    if not position:
        raise ConfigError([f"{flag}: names no layer; an example is 'dual_context*2 standard*4'."])


def _layers(
    found: re.Match[str],
    place: str,
    kinds: Collection[str],
    settings: Mapping[str, Any],
    below: int,
) -> list[LayerKind]:
    """Returns the layers of one item, above `below` others."""
    kind, times = found["kind"], found["times"]
    if times is not None and not (times.isdecimal() and int(times)):
        raise ConfigError([f"{place}: {times!r} is no number of layers; it is 1 or more."])
    if kind in SELF_ATTENTION_KINDS and kind not in kinds:
        raise ConfigError([f"{place}: {kind} {SELF_ATTENTION_KINDS[kind].not_in_decoders}."])
    if problem := choice_problem(place, kind, kinds):
        raise ConfigError([problem])
    options = options_of(kind, settings)
    given = dict(_given(found["options"] or "", place, kind, type(options)))
    for name, value in given.items():
        setattr(options, name, value)
    number = int(times or 1)

    def naming(option: str) -> str:
        return f"{place}: {option}" if option in given else type(options).flag_of(option)

    problems = wrong_values(options, naming) or options.contradictions(naming, below + number)
    if problems:
        raise ConfigError(problems)
    return [LayerKind(kind, options, frozenset(given))] * number


def _given(
    text: str, place: str, kind: str, options: type[KindOptions]
) -> Iterator[tuple[str, bool | int | str]]:
    """Yields option and value of ``kernel=3, …``."""
    types = get_type_hints(options)
    names = [each.name for each in fields(options)]
    if text.strip() and not names:
        raise ConfigError([f"{place}: {kind} has no options, and {text.strip()!r} is given."])
    seen: set[str] = set()
    for part in text.split(",") if text.strip() else []:
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if problem := choice_problem(f"{place}: option", name, names):
            raise ConfigError([problem])
        if not equals or not value:
            raise ConfigError([f"{place}: option {name!r} has no value; give {name}=VALUE."])
        if name in seen:
            raise ConfigError([f"{place}: option {name!r} is given twice."])
        seen.add(name)
        yield name, _typed(value, types[name], f"{place}: {name}")


def _typed(text: str, kind: type, name: str) -> bool | int | str:
    if kind is bool:
        if text.lower() not in _SWITCH:
            raise ConfigError([f"{name}: {text!r} is neither true nor false."])
        return _SWITCH[text.lower()]
    if kind is int:
        if not re.fullmatch(r"-?\d+", text):
            raise ConfigError([f"{name}: {text!r} is no whole number."])
        return int(text)
    return text


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
