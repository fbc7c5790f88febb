"""Schema of the files of published numbers, ``data/DOCUMENT.yaml``, as they are written.

A setting of an entry is written once: at its item, column, row or cell. Later ones override earlier
ones. None: nothing is written there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from typing import Any

from ..errors import UserError, choice_problem
from .document import RULES
from .schema import MEASURES, SCORES, SUBSETS, TASKS


@dataclass(kw_only=True)
class Located:
    """Something of a file; `where` is the file and the line."""

    where: str = ""

    def problem(self, sentence: str) -> UserError:
        """Returns an error about it."""
        return UserError(f"{self.where}: {sentence}")

    def check_choice(self, key: str, name: str | None, choices: Iterable[str]) -> None:
        """Raises UserError unless a name is among the choices."""
        problem = choice_problem(key, name, choices)
        if problem:
            raise self.problem(problem)


@dataclass(kw_only=True)
class Block(Located):
    """The text, training, decoding and score of entries: one of ``tasks``."""

    task: str | None = field(default=None, metadata={"choices": TASKS})
    direction: str | None = None
    subset: str | None = field(default=None, metadata={"choices": SUBSETS})
    set: str | None = None
    size: str | None = None
    training: str | None = None
    decoding: dict[str, str] = field(default_factory=dict)
    score: str | None = field(default=None, metadata={"choices": SCORES})


@dataclass(kw_only=True)
class Settings(Block):
    """Settings of entries.

    Attributes:
        on: name of a block of ``tasks``, which stands for its settings
        system, other: name of a system of the file, or another author's as printed
    """

    on: str | None = None
    system: str | None = None
    other: str | None = None
    flags: dict[str, str] = field(default_factory=dict)
    part: str | None = None
    measure: str | None = field(default=None, metadata={"choices": ("score", *MEASURES)})
    of: str | None = None
    against: str | None = None

    def overridden(self, by: Block) -> Settings:
        """Returns these settings with those that another place writes."""
        values: dict[str, Any] = {}
        for each in fields(Settings):
            own = getattr(by, each.name, None)
            if isinstance(own, dict):
                own = {**getattr(self, each.name), **own}
            if own is not None:
                values[each.name] = own
        for name, instead in (("system", "other"), ("other", "system")):
            if name in values:
                values.setdefault(instead, None)
        return replace(self, **values)


@dataclass(kw_only=True)
class Reachable(Located):
    """Something that can be made, or not; see :class:`.schema.State`."""

    state: str | None = field(default=None, metadata={"choices": ("run", "reported", "drawing")})
    needs: str | None = None
    by: str | None = None


@dataclass(kw_only=True)
class Cell(Settings):
    """A cell; a number stands for its value."""

    value: Decimal | None = field(default=None, metadata={"alone": True})
    difference: Decimal | None = None
    p: Decimal | None = None
    text: str = ""
    read: str = field(default="table", metadata={"choices": ("table", "prose")})
    absent: str = ""
    note: str = ""


@dataclass(kw_only=True)
class Column(Settings, Reachable):
    """A column."""


@dataclass(kw_only=True)
class Row(Settings, Reachable):
    """A row; `value` is its cell in an item with one column."""

    label: str
    values: dict[str, Cell] = field(default_factory=dict)
    value: Cell | None = None
    absent: str = ""
    note: str = ""


@dataclass(kw_only=True)
class Group(Reachable):
    """A named part of an item: rows, columns or cells."""

    name: str
    shows: str = ""
    rows: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class WrittenItem(Settings, Reachable):
    """An item.

    Attributes:
        analysis: options of the command that makes it, without ``--``, such as ``sentences: 1500``
        sources: printed source sentences whose translations it shows
        drawn_from: the item that has the numbers of a figure without numbers
        origin: rows that are the first point of every curve → the point, such as ``n = 1``
    """

    name: str
    title: str
    place: str
    baseline: str = ""
    columns: dict[str, Column] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    parts: list[Group] = field(default_factory=list)
    analysis: dict[str, str] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    drawn_from: str = ""
    origin: dict[str, str] = field(default_factory=dict)
    split: str = field(default="row", metadata={"choices": ("row", "cell")})
    absent: str = ""
    note: str = ""


@dataclass(kw_only=True)
class WrittenSystem(Located):
    """A system of the file: architecture without its size, and settings on top."""

    arch: str
    flags: dict[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class WrittenTraining(Located):
    """Training settings of the file."""

    source: str
    fixed: dict[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class WrittenDerived(Located):
    """A number in the text that follows from the cells ``ITEM | COLUMN | ROW | ROW``."""

    value: Decimal
    cells: str
    place: str
    unit: str = ""
    rule: str = field(default="difference", metadata={"choices": RULES})
    note: str = ""


@dataclass(kw_only=True)
class WrittenDocument(Located):
    """A whole file."""

    title: str
    cites: str
    training_settings: dict[str, WrittenTraining] = field(default_factory=dict)
    tasks: dict[str, Block] = field(default_factory=dict)
    systems: dict[str, WrittenSystem] = field(default_factory=dict)
    items: list[WrittenItem] = field(default_factory=list)
    derived: list[WrittenDerived] = field(default_factory=list)
