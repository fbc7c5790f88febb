"""Data classes of the published numbers.

A document has :class:`Item`s (tables, figures, experiments without a number). An item has
:class:`Part`s that can be requested separately (a row of a table, its column of parameters, a
curve). Each cell is an :class:`Entry`: a number and all its settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

# name of a recipe's folder → directions
TASKS: Mapping[str, tuple[str, ...]] = {
    "wmt14_en_de": ("en-de",),
    "wmt16_en_de": ("en-de",),
    "wmt17_zh_en": ("zh-en",),
    "wmt13_es_en": ("es-en",),
    "un_en_zh": ("en-zh",),
    "iwslt14_es_en": ("es-en", "en-es"),
    "iwslt14_ro_en": ("ro-en", "en-ro"),
    "iwslt14_de_en": ("de-en",),
    "iwslt15_en_vi": ("en-vi", "vi-en"),
    "iwslt15_fr_en": ("fr-en", "en-fr"),
    "wikipedia": ("en",),
}
SUBSETS = ("test", "valid", "newstest2015", "newstest2016")
SCORES = ("mteval-v13a", "multi-bleu", "multi-bleu-lc", "sacrebleu", "zh-words")

# properties of an entry that a run must match; "model" is every effective setting
_TRAINED = ("task", "direction", "model", "training")
_DECODED = (*_TRAINED, "subset", "part", "decoding")


@dataclass(frozen=True)
class Measure:
    """Describes the measure of a number.

    Attributes:
        unit: as written after the number
        fixed_by: properties of a run that it depends on, beside :attr:`Entry.of`; empty: not a
            measure of runs; with ``of``: an entry needs :attr:`Entry.of`
    """

    unit: str
    fixed_by: tuple[str, ...]


MEASURES: dict[str, Measure] = {
    **{name: Measure("BLEU", _DECODED) for name in SCORES},
    # other authors' scores: which program counted is not printed
    "bleu": Measure("BLEU", ()),
    "params": Measure("M", ("task", "direction", "model")),
    "train-steps": Measure("steps/s", ("task", "direction", "model", "training")),
    "train-words": Measure("words/s", ("task", "direction", "model", "training")),
    "decode-sentences": Measure("sentences/s", _DECODED),
    "decode-tokens": Measure("tokens/s", _DECODED),
    "perplexity": Measure("", (*_TRAINED, "subset")),
    "accuracy": Measure("%", (*_TRAINED, "of")),
    "sentences": Measure("", ("task", "direction", "subset", "of")),
    "length": Measure("tokens", ("task", "direction", "subset", "of")),
    "share": Measure("%", (*_TRAINED, "subset", "of")),
    "ranking": Measure("%", (*_DECODED, "of")),
    "precision": Measure("", (*_TRAINED, "subset", "of")),
    "divergence": Measure("nats", (*_TRAINED, "subset", "of")),
    "dependency": Measure("nats", (*_DECODED, "of")),
    "gate": Measure("", (*_TRAINED, "subset", "of")),
    "distance": Measure("tokens", (*_TRAINED, "subset", "of")),
    "entropy": Measure("nats", (*_TRAINED, "subset", "of")),
    "attention": Measure("", (*_DECODED, "of")),
    "significance": Measure("p", _DECODED),
    "text": Measure("", _DECODED),
    "setting": Measure("", ()),
}

# run: commands exist, as far as the document says; needs: something is not available;
# reported: printed by others, nothing to run; drawing: nothing to measure
STATES = ("run", "needs", "reported", "drawing")


@dataclass(frozen=True)
class State:
    """Says if something can be produced; `missing` is a sentence with the missing parts."""

    kind: str
    missing: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.missing}" if self.missing else self.kind


@dataclass(frozen=True)
class System:
    """Describes a trained system.

    Attributes:
        name: as documents and items call it
        arch: value of ``--arch``, with its size; "" for systems of other authors
        flags: settings on top of the architecture's, by their field names
        other: whose system it is, as printed; "" where it is one of the six architectures
    """

    name: str
    arch: str = ""
    flags: Mapping[str, Any] = field(default_factory=dict)
    other: str = ""


@dataclass(frozen=True)
class FixedTraining:
    """Settings of training that a document fixes.

    Attributes:
        name: of the section of ``recipes/papers.yaml`` that trains like this
        source: where they are printed
        fixed: what is printed; what is not is a choice, and compared with nothing
    """

    name: str
    source: str
    fixed: Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """One cell of a table, or one number of a figure or of the text.

    Attributes:
        document, item, row, column: where it stands
        system: the measured system
        task, direction, subset: the text; `set` is the subset's own name
        training: training settings; None if unknown
        part: decoder, ``main`` or ``aux:1``
        decoding: decoding settings that the document fixes
        measure: key of :data:`MEASURES`
        of: further property: a length group, a layer, a probing task
        value: as printed, with its decimals; None if only a difference or a picture is printed
        difference: printed difference to the row `against`
        p: printed level of significance of that difference
        against: baseline, a row or system
        text: of a cell without a number
        read: ``table``, or ``prose`` for a number in the text about a picture
        absent: reason for a missing value and difference
        note: doubts
    """

    document: str
    item: str
    row: str
    column: str
    system: System
    measure: str
    task: str = ""
    direction: str = ""
    subset: str = ""
    set: str = ""
    training: FixedTraining | None = None
    part: str = "main"
    decoding: Mapping[str, Any] = field(default_factory=dict)
    of: str = ""
    value: Decimal | None = None
    difference: Decimal | None = None
    p: Decimal | None = None
    against: str = ""
    text: str = ""
    read: str = "table"
    absent: str = ""
    note: str = ""

    @property
    def place(self) -> str:
        """Returns a name such as ``thesis, Table 3.4, M-00, n = 2``."""
        return f"{self.document}, {self.item}, {self.row}"


@dataclass(frozen=True)
class Part:
    """A part of an item that can be requested separately.

    Attributes:
        name: unique in its item
        shows: description, if the name is not enough
        state: whether it can be produced
        by: its producer, a command or an analysis
        entries: its cells; none for a curve, or a mark of significance
    """

    name: str
    shows: str
    state: State
    by: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Item:
    """A table, a figure, or an experiment without a number.

    Attributes:
        name: such as ``Table 3.4``
        title: description
        place: section and page
        state: of the whole item
        baseline: the row that others are compared with
        rows, columns: labels as printed, in order
        note: remarks
        analysis: options of the command that makes it, without ``--``
        sources: printed source sentences whose translations it shows
        drawn_from: the item that has its numbers; "" for itself
        origin: rows that are the first point of every curve → the point, such as ``n = 1``
    """

    document: str
    name: str
    title: str
    place: str
    state: State
    baseline: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    parts: tuple[Part, ...]
    entries: tuple[Entry, ...]
    note: str
    analysis: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    drawn_from: str = ""
    origin: Mapping[str, str] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """Returns a name such as ``thesis, Table 3.4``."""
        return f"{self.document}, {self.name}"
