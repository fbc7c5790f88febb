"""A command line of fairseq's, parsed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Command:
    """A parsed command line.

    Attributes:
        flags: name → value, all of them
        defaults: name → value where nothing is given
        given: names of the flags on the command line
    """

    flags: Mapping[str, Any]
    defaults: Mapping[str, Any]
    given: Collection[str]

    @property
    def training(self) -> bool:
        return "max_update" in self.flags

    @property
    def interactive(self) -> bool:
        return "buffer_size" in self.flags

    @property
    def generating(self) -> bool:
        return "beam" in self.flags and not self.training

    def set(self, name: str) -> Any:
        """Returns a flag's value; None for a missing flag."""
        return self.flags.get(name)
