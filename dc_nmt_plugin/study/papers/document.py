"""Published documents: their tables and figures, and each number with all its settings.

``data/DOCUMENT.yaml`` has the form of :class:`Document`. :mod:`.reader` merges the settings that
stand once for a task, item, column or row into the :class:`Entry` of each cell.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

import msgspec

YES = "yes"  # value of `reproducible` where a command makes a number again
SCORES = ("mteval-v13a", "multi-bleu", "multi-bleu-lc", "sacrebleu", "zh-words")
# "bleu" is the score of another author, whose program is not printed; "setting" is no measurement
NOT_OF_RUNS = ("bleu", "setting")


class Settings(msgspec.Struct, kw_only=True):
    """Settings of entries at one place of a file; "" is not written there."""

    on: str = ""  # block of tasks, which stands for its settings
    task: str = ""  # recipe, in its direction
    subset: str = ""  # test, valid or another set of the recipe
    set: str = ""  # its own name
    size: str = ""  # of the architecture, part of its name
    training: str = ""  # settings of recipes/papers.yaml; "" if nothing trains the system
    score: str = ""  # measure of the cells that name no other one
    system: str = ""  # name of the measured system
    other: str = ""  # whose system it is, as printed; "" for an architecture of this package
    # flags of fairseq-train on top, by field name; only those that change the model
    flags: dict[str, str] = {}
    part: str = ""  # decoder, main or aux:1
    # flags of fairseq-generate on top of the recipe's, such as a masked layer
    decoding: dict[str, str] = {}
    measure: str = ""  # such as mteval-v13a, params (millions) or train-steps (per second)
    of: str = ""  # further property, such as a length group, a layer or a probing task
    against: str = ""  # row or system that a difference is to
    # YES, or the reason. A reason that names a flag of dc-nmt paper run does not hold once
    # this flag is given.
    reproducible: str = ""
    by: str = ""  # command of dc-nmt that shows it, such as analyze gates


class Cell(Settings, kw_only=True):
    """A cell in the file; a number alone stands for its value."""

    # as printed, with its decimals; None if only a difference or a picture is printed
    value: Decimal | None = None
    difference: Decimal | None = None  # printed difference to `against`
    p: Decimal | None = None  # printed level of significance of that difference
    text: str = ""  # of a cell without a number
    # table, or prose for a number in the text about a picture
    read: Literal["table", "prose"] = "table"
    absent: str = ""  # reason for a missing number
    note: str = ""  # doubts


class Entry(Cell, kw_only=True):
    """One cell of a table, or one number of a figure or of the text, with all its settings."""

    document: str  # where it stands
    item: str
    row: str
    column: str
    arch: str  # value of --arch with its size; "" for systems of other authors
    part: str = "main"

    @property
    def cell(self) -> tuple[str, str]:
        """Returns the row and the column, which are unique in an item."""
        return self.row, self.column

    @property
    def is_of_a_run(self) -> bool:
        """Returns True for a measurement of an architecture of this package."""
        return not self.other and self.measure not in NOT_OF_RUNS


class Row(Settings, kw_only=True):
    """A row in the file; ``value`` is its cell in an item with one column."""

    label: str
    values: dict[str, Decimal | Cell] = {}
    value: Decimal | Cell | None = None
    absent: str = ""
    note: str = ""


class Item(Settings, kw_only=True):
    """A table, a figure, or an experiment without a number."""

    name: str  # such as Table 3.4
    title: str
    place: str  # section and page
    baseline: str = ""  # row that the others are compared with
    columns: dict[str, Settings] = {}  # as printed, in order, as the rows
    rows: list[Row] = []
    analysis: dict[str, str] = {}  # options of the command that makes it, without --
    # command that tests the entries with a printed p; "" for the table's own test
    significance: str = ""
    sources: list[str] = []  # printed source sentences whose translations it shows
    prose: list[str] = []  # numbers of the text that follow from its cells
    shows: dict[str, str] = {}  # column, mark or part of a figure → what it shows
    absent: str = ""
    note: str = ""
    document: str = ""  # set by the reader
    entries: list[Entry] = []

    @property
    def full_name(self) -> str:
        """Returns a name such as ``thesis, Table 3.4``."""
        return f"{self.document}, {self.name}"


class System(msgspec.Struct, kw_only=True):
    """An architecture without its size, and flags on top."""

    arch: str
    flags: dict[str, str] = {}


class Document(msgspec.Struct, kw_only=True):
    """One of the five documents."""

    title: str
    cites: str  # its key in REFERENCES.bib
    tasks: dict[str, Settings]
    systems: dict[str, System]
    items: list[Item]
    name: str = ""  # such as thesis; set by the reader

    @property
    def entries(self) -> list[Entry]:
        """Returns the entries of all items, in order."""
        return [entry for item in self.items for entry in item.entries]
