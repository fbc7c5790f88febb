"""The self-attention of each layer of a stack, and its specification, ``--encoder-layers-of``.

A specification is a list of items, from the lowest layer up:

    dual_context(kernel=3)*2 context_aware(context=deep, gate=none)*4

An item is a kind of self-attention, its options in brackets, and after ``*`` how many layers of it
follow each other (1 without). An option that is not given has the value of its flag.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...errors import ConfigError, check_choices
from ...flags import flag_name
from ...modules.mechanisms import SELF_ATTENTIONS, Mechanism, Option, Values, decoder_kinds

_ITEM = re.compile(
    r"""(?P<kind>[^\s()*]+)
        \s*(?:\((?P<options>[^()]*)\))?
        (?:\s*\*\s*(?P<times>[1-9][0-9]*))?
        (?:\s+|$)""",
    re.VERBOSE,
)


class SelfAttentionSpec(NamedTuple):
    """Describes the self-attention of one layer, or of several."""

    mechanism: Mechanism
    options: Values

    def check(self, highest: int, item: str = "") -> None:
        """Refuses options that contradict each other; the message names flags.

        Args:
            highest: layer with this self-attention
            item: of a specification, which begins the message

        Raises:
            ConfigError: the first contradiction
        """
        kind = self.mechanism
        flags = {option.name: flag_name(kind.setting(option)) for option in kind.options}
        for problem in kind.problems(self.options, highest, flags):
            raise ConfigError(f"{item}: {problem}" if item else problem)


def read_specification(
    text: str, side: str, number: int, defaults: Mapping[str, Values]
) -> list[SelfAttentionSpec]:
    """Returns the self-attention of each layer of a specification, lowest first.

    Args:
        number: of layers of that side
        defaults: kind → its options, where an item does not give them

    Raises:
        ConfigError: the first thing that is wrong, with its item
    """
    flag = f"--{side}-layers-of"
    kinds = SELF_ATTENTIONS if side == "encoder" else decoder_kinds()
    layers: list[SelfAttentionSpec] = []
    rest = text.strip()
    while rest or not layers:
        match = _ITEM.match(rest)
        if match is None:
            raise ConfigError(
                f"{flag}: {rest!r} is not a list of layers such as "
                "'dual_context(kernel=3)*2 standard*4'."
            )
        rest = rest[match.end() :]
        name, item = match["kind"], f"{flag}: {match[0].strip()!r}"
        check_choices(item, [name], kinds, error=ConfigError)
        mechanism = SELF_ATTENTIONS[name]
        explicit = _explicit_options(match["options"] or "", item, mechanism)
        spec = SelfAttentionSpec(mechanism, {**defaults[name], **explicit})
        layers += [spec] * int(match["times"] or 1)
        spec.check(highest=len(layers), item=item)
    if len(layers) != number:
        raise ConfigError(
            f"{flag}: {text!r} has {len(layers)} layers, and --{side}-layers is {number}."
        )
    return layers


def _explicit_options(text: str, item: str, mechanism: Mechanism) -> dict[str, Any]:
    """Returns option → value of ``kernel=3, …``, as the type of the option's default."""
    names = [option.name for option in mechanism.options]
    if text.strip() and not names:
        raise ConfigError(f"{item}: {mechanism.name} has no options.")
    explicit: dict[str, Any] = {}
    for part in text.split(",") if text.strip() else ():
        name, _, word = (piece.strip() for piece in part.partition("="))
        check_choices(f"{item}: option", [name], names, error=ConfigError)
        if not word or name in explicit:
            raise ConfigError(f"{item}: give option {name} once, as {name}=VALUE.")
        explicit[name] = _value_of(mechanism.option(name), word, f"{item}: {name}")
    return explicit


def _value_of(option: Option, word: str, name: str) -> Any:
    """Returns the value of a word; `name` begins the message of what is wrong with it."""
    try:
        value = option.read(word)
    except ValueError as wanted:
        raise ConfigError(f"{name}: {word!r} is not {wanted}.") from None
    problem = option.problem(value, name)
    if problem:
        raise ConfigError(problem)
    return value
