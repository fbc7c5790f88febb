"""Parameters of built models beside the papers' numbers."""

from __future__ import annotations

from dataclasses import dataclass

from ..models.count import build, count, dummy_dictionary
from .parameter_tables import ParameterTable

MILLION = 1_000_000


@dataclass(frozen=True)
class CountRow:
    """One count: millions of parameters built and published, their relative difference."""

    table: str
    name: str
    vocabulary: int
    built: float
    published: float | None = None
    difference: float | None = None
    within: bool | None = None
    note: str = ""


def fitted_vocabulary(table: ParameterTable) -> int:
    """The vocabulary with which the table's baseline has the published size.

    Two builds give the slope: parameters grow linearly with the vocabulary.
    """
    few, more = 1_000, 2_000
    at_few, at_more = (
        count(build(table.arch, table.common, dummy_dictionary(size))) for size in (few, more)
    )
    slope = (at_more - at_few) / (more - few)
    return round(few + (table.baseline[1] * MILLION - at_few) / slope)


def published_rows(table: ParameterTable) -> list[CountRow]:
    """Every row of a published table, built with the vocabulary fitted to its baseline."""
    size = table.vocabulary or fitted_vocabulary(table)
    dictionary = dummy_dictionary(size)
    rows = []
    entries = {table.baseline[0]: ({}, table.baseline[1]), **table.rows}
    for name, (settings, published) in entries.items():
        built = count(build(table.arch, {**table.common, **settings}, dictionary)) / MILLION
        difference = built / published - 1
        rows.append(
            CountRow(
                table=table.source,
                name=name,
                vocabulary=size,
                built=round(built, 3),
                published=published,
                difference=round(difference, 5),
                within=abs(difference) <= table.exceptions.get(name, table.tolerance),
                note=table.notes.get(name, ""),
            )
        )
    return rows


def preset_row(arch: str, vocabulary: int) -> CountRow:
    """One architecture with a vocabulary of the user's."""
    built = count(build(arch, {}, dummy_dictionary(vocabulary))) / MILLION
    return CountRow(table="architectures", name=arch, vocabulary=vocabulary, built=round(built, 3))
