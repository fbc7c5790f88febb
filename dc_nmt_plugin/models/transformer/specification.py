"""Kinds of the layers of a stack, and their specification for ``--encoder-layers-of``.

A specification is a list of items, from the lowest layer up:

    dual_context(kernel=3)*2 context_aware(context=deep, gate=none)*4

An item is a kind of self-attention, its options in brackets, and after ``*`` how many layers of it
follow each other (1 without). An option that is not given has the value of its flag.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from typing import Any

from ...errors import ConfigError, choice_problem
from ...flags import flag_name
from ..options import CheckedConfig, value_problem
from .axes import DECODER_KINDS, ENCODER_ONLY, SELF_ATTENTION_KINDS

Value = bool | int | float | str

_ITEM = re.compile(
    r"""(?P<kind>[^\s()*]+)
        \s*(?:\((?P<options>[^()]*)\))?
        (?:\s*\*\s*(?P<times>[1-9][0-9]*))?
        (?:\s+|$)""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class LayerKind:
    """Describes the self-attention of one layer.

    Attributes:
        kind: a key of :data:`~.axes.SELF_ATTENTION_KINDS`
        options: its options and their values
    """

    kind: str
    options: dict[str, Any]


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
        ConfigError: the first thing that is wrong, with its item
    """
    flag = f"--{side}-layers-of"
    kinds = tuple(SELF_ATTENTION_KINDS) if side == "encoder" else DECODER_KINDS
    layers: list[LayerKind] = []
    rest = text.strip()
    while rest or not layers:
        item = _ITEM.match(rest)
        if item is None:
            raise ConfigError(
                f"{flag}: {rest!r} is not a list of layers such as "
                "'dual_context(kernel=3)*2 standard*4'."
            )
        rest = rest[item.end() :]
        kind, place = item["kind"], f"{flag}: {item[0].strip()!r}"
        if side == "decoder" and kind in ENCODER_ONLY:
            raise ConfigError(f"{place}: {kind} {ENCODER_ONLY[kind]}.")
        problem = choice_problem(place, kind, kinds)
        if problem:
            raise ConfigError(problem)
        explicit = _explicit_options(item["options"] or "", place, kind, cfg)
        options = {**layer_kind(kind, cfg).options, **explicit}
        number, most = int(item["times"] or 1), getattr(cfg, f"{side}_layers")
        if number > most:  # before so many are made
            raise ConfigError(f"{place}: has {number} layers, and --{side}-layers is {most}.")
        layers += [LayerKind(kind, options)] * number
        names = {**option_flags(kind), **{name: f"{place}: {name}" for name in explicit}}
        problem = contradiction(kind, options, names, highest=len(layers))
        if problem:
            raise ConfigError(problem)
    return layers


def option_flags(kind: str) -> dict[str, str]:
    """Returns option of a kind → the flag that gives its value to all layers."""
    return {name: flag_name(setting) for name, setting in SELF_ATTENTION_KINDS[kind].items()}


def contradiction(
    kind: str, options: Mapping[str, Any], names: Mapping[str, str], highest: int
) -> str | None:
    """Returns a sentence if options of a kind contradict each other.

    Args:
        kind: of self-attention
        options: and their values
        names: option → what messages call it
        highest: the highest layer with them, 1-based
    """
    if kind == "context_aware" and options["context"] == "deep" and highest == 1:
        return (
            f"{names['context']}: 'deep' is made of the inputs of lower layers, and layer 1 has "
            "none below it; include a higher layer, or choose another context."
        )
    if kind == "cross_aggregation" and options["init"] == "self":
        routing = names["routing"]
        if options["routing"] == "vertical":
            return (
                f"{names['init']}: 'self' starts the horizontal routing at the logits, and "
                f"{routing} vertical has none; choose zero, or {routing} horizontal or both."
            )
    return None


def _explicit_options(text: str, place: str, kind: str, cfg: CheckedConfig) -> dict[str, Value]:
    """Returns option → value of ``kernel=3, …``."""
    settings = SELF_ATTENTION_KINDS[kind]
    if text.strip() and not settings:
        raise ConfigError(f"{place}: {kind} has no options.")
    explicit: dict[str, Value] = {}
    for part in text.split(",") if text.strip() else ():
        name, _, value = (piece.strip() for piece in part.partition("="))
        problem = choice_problem(f"{place}: option", name, settings)
        if problem is None and (not value or name in explicit):
            problem = f"{place}: give option {name} once, as {name}=VALUE."
        if problem:
            raise ConfigError(problem)
        (field,) = (each for each in fields(cfg) if each.name == settings[name])
        explicit[name] = _option_value(value, field, f"{place}: {name}")
    return explicit


def _option_value(text: str, field: Field[Any], name: str) -> Value:
    """Returns a value as the type of the setting's default."""
    value: Value | None = text
    if isinstance(field.default, bool):
        value = {"true": True, "false": False}.get(text.lower())
    elif isinstance(field.default, int):
        value = int(text) if text.isdecimal() else None
    if value is None:
        wanted = "true or false" if isinstance(field.default, bool) else "a whole number"
        raise ConfigError(f"{name}: {text!r} is not {wanted}.")
    problem = value_problem(field, value, name)
    if problem:
        raise ConfigError(problem)
    return value
