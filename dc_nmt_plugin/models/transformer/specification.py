"""The self-attention of each layer of a stack, and its specification, ``--encoder-layers-of``.

A specification is a list of items, from the lowest layer up:

    dual_context(kernel=3)*2 context_aware(context=deep, gate=none)*4

An item is a kind of self-attention, its options in brackets, and after ``*`` how many layers of it
follow each other (1 without). An option that is not given has the value of its flag.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any, NamedTuple

from ...errors import ConfigError, check_choices
from ..options import CheckedConfig, value_problem
from .axes import DECODER_KINDS, SELF_ATTENTION_KINDS

_ITEM = re.compile(
    r"""(?P<kind>[^\s()*]+)
        \s*(?:\((?P<options>[^()]*)\))?
        (?:\s*\*\s*(?P<times>[1-9][0-9]*))?
        (?:\s+|$)""",
    re.VERBOSE,
)


class SelfAttentionSpec(NamedTuple):
    """Describes the self-attention of one layer."""

    kind: str  # a key of SELF_ATTENTION_KINDS
    options: dict[str, Any]  # their values


def spec_of_flags(kind: str, cfg: CheckedConfig) -> SelfAttentionSpec:
    """Returns a kind with the options that the settings (flags) give to all its layers."""
    options = SELF_ATTENTION_KINDS[kind].items()
    return SelfAttentionSpec(kind, {name: getattr(cfg, setting) for name, setting in options})


def read_specification(text: str, side: str, cfg: CheckedConfig) -> list[SelfAttentionSpec]:
    """Returns the self-attention of each layer of a specification, lowest first.

    Args:
        text: the specification
        side: ``encoder`` or ``decoder``
        cfg: for options that are not given, and the valid values of those that are

    Raises:
        ConfigError: the first thing that is wrong, with its item
    """
    flag, most = f"--{side}-layers-of", getattr(cfg, f"{side}_layers")
    kinds = tuple(SELF_ATTENTION_KINDS) if side == "encoder" else DECODER_KINDS
    layers: list[SelfAttentionSpec] = []
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
        check_choices(place, [kind], kinds, error=ConfigError)
        explicit = _explicit_options(item["options"] or "", place, kind, cfg)
        spec = SelfAttentionSpec(kind, {**spec_of_flags(kind, cfg).options, **explicit})
        number = int(item["times"] or 1)
        if number > most:  # before a list of so many fills the memory
            raise ConfigError(f"{place}: has {number} layers, and --{side}-layers is {most}.")
        layers += [spec] * number
        check_options(spec, highest=len(layers), place=f"{place}: ")
    if len(layers) != most:
        raise ConfigError(
            f"{flag}: {text!r} has {len(layers)} layers, and --{side}-layers is {most}."
        )
    return layers


def check_options(spec: SelfAttentionSpec, highest: int, place: str = "") -> None:
    """Refuses options that contradict each other; the message names flags.

    `highest` is the highest layer with them; `place` begins the message where no flag gives them.
    """
    options = spec.options
    if options.get("context") == "deep" and highest == 1:
        raise ConfigError(
            f"{place}--ctx-context: 'deep' is made of the inputs of lower layers, and layer 1 has "
            "none below it; include a higher layer, or choose another context."
        )
    if options.get("routing") == "vertical" and options["init"] == "self":
        raise ConfigError(
            f"{place}--xagg-init: 'self' starts the horizontal routing at the logits, and "
            "--xagg-routing vertical has none; choose zero, or --xagg-routing horizontal or both."
        )


def _explicit_options(text: str, place: str, kind: str, cfg: CheckedConfig) -> dict[str, Any]:
    """Returns option → value of ``kernel=3, …``, as the type of the setting's default."""
    settings, of_name = SELF_ATTENTION_KINDS[kind], {each.name: each for each in fields(cfg)}
    if text.strip() and not settings:
        raise ConfigError(f"{place}: {kind} has no options.")
    explicit: dict[str, Any] = {}
    for part in text.split(",") if text.strip() else ():
        name, _, word = (piece.strip() for piece in part.partition("="))
        check_choices(f"{place}: option", [name], settings, error=ConfigError)
        if not word or name in explicit:
            raise ConfigError(f"{place}: give option {name} once, as {name}=VALUE.")
        field = of_name[settings[name]]
        value: Any = word
        wanted = ""
        if isinstance(field.default, bool):
            value, wanted = {"true": True, "false": False}.get(word.lower()), "true or false"
        elif isinstance(field.default, int):
            value, wanted = int(word) if word.isdecimal() else None, "a whole number"
        if value is None:
            raise ConfigError(f"{place}: {name}: {word!r} is not {wanted}.")
        problem = value_problem(field, value, f"{place}: {name}")
        if problem:
            raise ConfigError(problem)
        explicit[name] = value
    return explicit
