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
    """Settings of entries at one place of a file; "" is not written there.

    Attributes:
        on: block of ``tasks``, which stands for its settings
        task: recipe, in its direction
        subset: ``test``, ``valid`` or another set of the recipe; ``set`` is its own name
        size: of the architecture, part of its name
        training: settings of ``recipes/papers.yaml``; "" if nothing trains the system
        score: measure of the cells that name no other one
        system: name of the measured system
        other: whose system it is, as printed; "" for an architecture of this package
        flags: of ``fairseq-train`` on top, by field name; only those that change the model
        part: decoder, ``main`` or ``aux:1``
        decoding: flags of ``fairseq-generate`` on top of the recipe's, such as a masked layer
        measure: such as ``mteval-v13a``, ``params`` (millions) or ``train-steps`` (per second)
        of: further property, such as a length group, a layer or a probing task
        against: row or system that a difference is to
        reproducible: :data:`YES`, or the reason. A reason that names a flag of
            ``dc-nmt paper run`` does not hold once this flag is given.
        by: command of ``dc-nmt`` that shows it, such as ``analyze gates``
    """

    on: str = ""
    task: str = ""
    subset: str = ""
    set: str = ""
    size: str = ""
    training: str = ""
    score: str = ""
    system: str = ""
    other: str = ""
    flags: dict[str, str] = {}
    part: str = ""
    decoding: dict[str, str] = {}
    measure: str = ""
    of: str = ""
    against: str = ""
    reproducible: str = ""
    by: str = ""


class Cell(Settings, kw_only=True):
    """A cell in the file; a number alone stands for its value.

    Attributes:
        value: as printed, with its decimals; None if only a difference or a picture is printed
        difference: printed difference to ``against``
        p: printed level of significance of that difference
        text: of a cell without a number
        read: ``table``, or ``prose`` for a number in the text about a picture
        absent: reason for a missing number
        note: doubts
    """

    value: Decimal | None = None
    difference: Decimal | None = None
    p: Decimal | None = None
    text: str = ""
    read: Literal["table", "prose"] = "table"
    absent: str = ""
    note: str = ""


class Entry(Cell, kw_only=True):
    """One cell of a table, or one number of a figure or of the text, with all its settings.

    Attributes:
        document, item, row, column: where it stands
        arch: value of ``--arch`` with its size; "" for systems of other authors
    """

    document: str
    item: str
    row: str
    column: str
    arch: str
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
    """A table, a figure, or an experiment without a number.

    Attributes:
        name: such as ``Table 3.4``
        place: section and page
        reproducible: as of an entry
        baseline: row that the others are compared with
        rows, columns: as printed, in order
        analysis: options of the command that makes it, without ``--``
        significance: command that tests the entries with a printed p; "" for the table's own test
        sources: printed source sentences whose translations it shows
        prose: numbers of the text that follow from its cells
        shows: column, mark or part of a figure → what it shows
        document, entries: set by the reader
    """

    name: str
    title: str
    place: str
    baseline: str = ""
    columns: dict[str, Settings] = {}
    rows: list[Row] = []
    analysis: dict[str, str] = {}
    significance: str = ""
    sources: list[str] = []
    prose: list[str] = []
    shows: dict[str, str] = {}
    absent: str = ""
    note: str = ""
    document: str = ""
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
    """One of the five documents.

    Attributes:
        cites: its key in REFERENCES.bib
        name: such as ``thesis``; set by the reader
    """

    title: str
    cites: str
    tasks: dict[str, Settings]
    systems: dict[str, System]
    items: list[Item]
    name: str = ""

    @property
    def entries(self) -> list[Entry]:
        """Returns the entries of all items, in order."""
        return [entry for item in self.items for entry in item.entries]
