"""Kinds of the layers of a stack, and their specification for ``--encoder-layers-of``.

A specification is a list of items, from the lowest layer up:

    dual_context(kernel=3)*2 context_aware(context=deep, gate=none)*4

An item is a kind of self-attention, its options in brackets, and after ``*`` how many layers of it
follow each other (1 without). An option that is not given has the value of its flag.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import Field, dataclass, fields
from typing import Any

from ...errors import ConfigError, choice_problem
from ...flags import flag_name
from ..options import CheckedConfig, value_problem
from .axes import DECODER_KINDS, ENCODER_ONLY, SELF_ATTENTION_KINDS

Value = bool | int | float | str

_ITEM = re.compile(
    r"""\s*(?P<item>
        (?P<kind>[^\s()*]+)
        \s*(?:\((?P<options>[^()]*)\))?
        (?:\s*\*\s*(?P<times>[^\s()*]*))?
    )(?=\s|$)""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class LayerKind:
    """Describes the self-attention of one layer.

    Attributes:
        kind: a key of :data:`~.axes.SELF_ATTENTION_KINDS`
        options: its options and their values
        explicit: names of the options that the specification gives
    """

    kind: str
    options: dict[str, Any]
    explicit: Collection[str] = ()


def layer_kind(kind: str, cfg: CheckedConfig) -> LayerKind:
    """Returns a kind with the options that the settings (flags) give to all its layers."""
    options = SELF_ATTENTION_KINDS[kind]
    return LayerKind(kind, {name: getattr(cfg, setting) for name, setting in options.items()})


def read_specification(text: str, side: str, cfg: CheckedConfig) -> list[LayerKind]:
    """Returns the layers of a specification, lowest first.

    Args:
        text: the specification
        side: ``encoder`` or ``decoder``
        cfg: for options that are not given, and the valid values of those that are

    Raises:
        ConfigError: everything that is wrong, each with its item
    """
    flag = f"--{side}-layers-of"
    layers: list[LayerKind] = []
    problems: list[str] = []
    for number, item in enumerate(_items(text, flag), start=1):
        place = f"{flag}, item {number} {item['item']!r}"
        try:
            layers += _layers_of_item(item, place, side, cfg, below=len(layers))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return layers


def _items(text: str, flag: str) -> list[re.Match[str]]:
    items: list[re.Match[str]] = []
    position = 0
    while text[position:].strip():
        item = _ITEM.match(text, position)
        if item is None:
            raise ConfigError(
                f"{flag}: {text[position:].strip()!r} is not a list of layers such as "
                "'dual_context(kernel=3)*2 standard*4'."
            )
        items.append(item)
        position = item.end()
    if not items:
        raise ConfigError(f"{flag}: names no layer; an example is 'dual_context*2 standard*4'.")
    return items


def _layers_of_item(
    item: re.Match[str], place: str, side: str, cfg: CheckedConfig, below: int
) -> list[LayerKind]:
    """Returns the layers of one item, above `below` others."""
    kind, times = item["kind"], item["times"]
    if times is not None and not (times.isdecimal() and int(times)):
        raise ConfigError(f"{place}: {times!r} is no number of layers; it is 1 or more.")
    if side == "decoder" and kind in ENCODER_ONLY:
        raise ConfigError(f"{place}: {kind} {ENCODER_ONLY[kind]}.")
    kinds = tuple(SELF_ATTENTION_KINDS) if side == "encoder" else DECODER_KINDS
    unknown = choice_problem(place, kind, kinds)
    if unknown:
        raise ConfigError(unknown)
    explicit = _given_options(item["options"] or "", place, kind, cfg)
    options = {**layer_kind(kind, cfg).options, **explicit}
    names = option_flags(kind)
    names.update((name, f"{place}: {name}") for name in explicit)
    number = int(times or 1)
    problems = contradictory_options(kind, options, names, below + number)
    if problems:
        raise ConfigError(problems)
    return [LayerKind(kind, options, frozenset(explicit))] * number


def option_flags(kind: str) -> dict[str, str]:
    """Returns option of a kind → the flag that gives its value to all layers."""
    return {name: flag_name(setting) for name, setting in SELF_ATTENTION_KINDS[kind].items()}


def contradictory_options(
    kind: str, options: Mapping[str, Any], names: Mapping[str, str], layer: int
) -> list[str]:
    """Returns a sentence if options of a kind contradict each other.

    Args:
        kind: of self-attention
        options: and their values
        names: option → what messages call it
        layer: the highest layer with them, 1-based
    """
    if kind == "context_aware" and options["context"] == "deep" and layer == 1:
        return [
            f"{names['context']}: 'deep' is made of the inputs of lower layers, and layer 1 has "
            "none below it; include a higher layer, or choose another context."
        ]
    if kind == "cross_aggregation" and options["init"] == "self":
        routing = names["routing"]
        if options["routing"] == "vertical":
            return [
                f"{names['init']}: 'self' starts the horizontal routing at the logits, and "
                f"{routing} vertical has none; choose zero, or {routing} horizontal or both."
            ]
    return []


def _given_options(text: str, place: str, kind: str, cfg: CheckedConfig) -> dict[str, Value]:
    """Returns option → value of ``kernel=3, …``."""
    settings = SELF_ATTENTION_KINDS[kind]
    explicit: dict[str, Value] = {}
    if not text.strip():
        return explicit
    if not settings:
        raise ConfigError(f"{place}: {kind} has no options, and {text.strip()!r} is given.")
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        problem = choice_problem(f"{place}: option", name, settings)
        if problem:
            raise ConfigError(problem)
        if not equals or not value:
            raise ConfigError(f"{place}: option {name!r} has no value; give {name}=VALUE.")
        if name in explicit:
            raise ConfigError(f"{place}: option {name!r} is given twice.")
        (field,) = (each for each in fields(cfg) if each.name == settings[name])
        explicit[name] = _option_value(value, field, f"{place}: {name}")
    return explicit


def _option_value(text: str, field: Field[Any], name: str) -> Value:
    """Returns a value as the type of the setting's default."""
    value: Value = text
    if isinstance(field.default, bool):
        if text.lower() not in ("true", "false"):
            raise ConfigError(f"{name}: {text!r} is neither true nor false.")
        return text.lower() == "true"
    if isinstance(field.default, int):
        try:
            value = int(text)
        except ValueError:
            raise ConfigError(f"{name}: {text!r} is no whole number.") from None
    problem = value_problem(field, value, name)
    if problem:
        raise ConfigError(problem)
    return value
