"""A whole document: its items, and the numbers of its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

from .schema import Entry, FixedTraining, Item

# how a number of the text follows from two cells
RULES: Mapping[str, Callable[[float, float], float]] = {
    "difference": lambda one, other: one - other,
    "slower": lambda one, other: 100 * (1 - one / other),  # in per cent
}


@dataclass(frozen=True)
class Derived:
    """A number in the text that follows from two cells.

    Attributes:
        place: where it is printed
        value: as printed, with its decimals
        unit: of the value, such as ``%``
        rule: of :data:`RULES`
        cells: the two numbers
        note: what differs
    """

    place: str
    value: Decimal
    unit: str
    rule: str
    cells: tuple[Entry, Entry]
    note: str = ""

    @property
    def computed(self) -> float:
        """Returns what the rule makes of the cells."""
        one, other = (float(cell.value or 0) for cell in self.cells)
        return RULES[self.rule](one, other)

    @property
    def agrees(self) -> bool:
        """Returns True if the cells can give the value, because both are rounded."""
        ends = [_rounded_from(cell.value or Decimal(0)) for cell in self.cells]
        possible = [RULES[self.rule](one, other) for one, other in product(*ends)]
        low, high = _rounded_from(self.value)
        return min(possible) <= high and low <= max(possible)


def _rounded_from(value: Decimal) -> tuple[float, float]:
    """Returns the least and the greatest number that is printed as a value."""
    half = 0.5 * 10.0 ** int(value.as_tuple().exponent)
    return float(value) - half, float(value) + half


@dataclass(frozen=True)
class Document:
    """One of the five documents.

    Attributes:
        name: such as ``thesis``
        title, cites: its title, and its key in REFERENCES.bib
        training_settings: name → training settings that the document fixes
        derived: numbers of its text that follow from cells
    """

    name: str
    title: str
    cites: str
    training_settings: Mapping[str, FixedTraining]
    items: tuple[Item, ...]
    derived: tuple[Derived, ...] = ()

    @property
    def entries(self) -> list[Entry]:
        """Returns the entries of all items, in order."""
        return [entry for item in self.items for entry in item.entries]
