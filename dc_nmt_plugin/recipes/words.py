"""Command lines of the scripts: taken apart here, and given back as variables of bash."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import UserError

Value = str | int | Sequence[str]


@dataclass
class Words:
    """A command line taken apart.

    Attributes:
        names: words before the first unknown flag
        options: known options, those without a value as "yes"
        rest: everything else, in order
    """

    names: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)

    def number(self, name: str, least: int = 1) -> int | None:
        """An option that is a whole number.

        Raises:
            UserError: it is none, or too small
        """
        text = self.options.get(name)
        if text is None:
            return None
        if not text.isdigit() or int(text) < least:
            raise UserError(f"{name}: {text!r} is not a whole number from {least} on")
        return int(text)


def take_apart(argv: Sequence[str], known: Mapping[str, bool], names: int) -> Words:
    """Known options from anywhere, then up to ``names`` words, the rest untouched.

    Raises:
        UserError: an option without its value
    """
    words, waiting = Words(), list(argv)
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            words.rest += waiting
            break
        if name in known:
            if known[name] and not equals:
                if not waiting:
                    raise UserError(f"{name}: needs a value")
                value = waiting.pop(0)
            words.options[name] = value if known[name] else "yes"
        elif not words.rest and not word.startswith("-") and len(words.names) < names:
            words.names.append(word)
        else:
            words.rest.append(word)
    return words


def shell(variables: Mapping[str, Value]) -> str:
    """Assignments for bash: strings, and arrays where the value is a sequence."""
    lines = []
    for name, value in variables.items():
        if isinstance(value, str | int):
            lines.append(f"{name}={shlex.quote(str(value))}")
        else:
            lines.append(f"{name}=({' '.join(map(shlex.quote, value))})")
    return "\n".join(lines)


def replaced(flags: list[str], name: str, value: str) -> list[str]:
    """``flags`` with another value of one of them, the first time it is given."""
    if name not in flags:
        return flags
    place = flags.index(name)
    return [*flags[: place + 1], value, *flags[place + 2 :]]
