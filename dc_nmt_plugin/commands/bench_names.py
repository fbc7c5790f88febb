"""Short names of what ``dc-nmt bench`` measures, for the heads of tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from ..bench import INT8


@dataclass(frozen=True)
class Names:
    """Holds the flags that all measured models share; a table names them once.

    Attributes:
        flags: the shared flags, as on the command line; empty without any
        short: name of a model → the name without them
    """

    flags: str = ""
    short: dict[str, str] = field(default_factory=dict)

    def __call__(self, name: str) -> str:
        """Returns the short name, or the same name where there is none."""
        own, eight, _ = name.rpartition(INT8)
        return self.short.get(name) or (self.short.get(own, own) + eight if eight else name)

    def lines(self) -> list[str]:
        """Returns the line above a table; nothing if no flags are shared."""
        return [f"Flags of every ARCH: {self.flags}"] if self.flags else []


def short_names(archs: Sequence[str], others: Iterable[str] = ()) -> Names:
    """Finds the last flags that all architectures share.

    Args:
        archs: architectures or runs, with flags behind their names
        others: further names in the table, such as the baseline; no short name equals one of them
    """
    words = [shlex.split(arch) for arch in archs]
    backwards = zip(*(reversed(own[1:]) for own in words), strict=False)
    shared = len(list(takewhile(lambda same: len(set(same)) == 1, backwards)))
    flags = words[0][len(words[0]) - shared :]
    while flags and not flags[0].startswith("--"):  # a value without its flag
        flags = flags[1:]
    if not flags:
        return Names()
    own = [shlex.join(each[: len(each) - len(flags)]) for each in words]
    if set(own) & (set(others) - set(archs)):
        return Names()
    return Names(shlex.join(flags), dict(zip(archs, own, strict=True)))
