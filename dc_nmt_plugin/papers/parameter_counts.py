"""Parameter counts of built models and of the papers."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..flags import as_flags
from ..models.count import build, count, dummy_dictionary
from .register import read_register
from .schema import Entry

MILLION = 1_000_000
TOLERANCE = 0.003  # relative; most are far nearer
# place → another tolerance, and why
EXCEPTIONS: Mapping[tuple[str, str], tuple[float, str]] = {
    ("thesis, Table 3.4", "Iter-S-Agg, n = 6"): (0.01, "prints n = 5's; Table 3.2 has 63.9"),
    ("residual-decoder, Table 6", ""): (0.011, "printed without decimals: 47M"),
}


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


def fitted_vocabulary(entry: Entry) -> int:
    """Returns the vocabulary with which an entry's model has the published size.

    Papers leave the exact vocabulary out. Two builds give the slope: parameters grow linearly with
    it.
    """
    assert entry.value is not None
    few, more = 1_000, 2_000
    at_few, at_more = (built_count(entry, size) for size in (few, more))
    return round(few + (float(entry.value) * MILLION - at_few) * (more - few) / (at_more - at_few))


def published_items() -> Iterator[tuple[str, list[Entry]]]:
    """Yields every table with parameter counts of these architectures, with its place."""
    for document in read_register():
        for item in document.items:
            found = [e for e in item.entries if _is_count(e)]
            if found:
                yield f"{document.name}, {item.name}", found


def published_rows(place: str, entries: list[Entry]) -> list[CountRow]:
    """Returns every count of a table, with the vocabulary fitted to the baseline of the table."""
    rows = []
    sizes: dict[object, int] = {}
    for entry in entries:
        baseline = next((e for e in entries if e.row == entry.against), entry)
        key = (baseline.system.arch, str(baseline.system.flags), baseline.value)
        size = sizes.get(key) or fitted_vocabulary(baseline)
        sizes[key] = size
        built = built_count(entry, size) / MILLION
        published = float(entry.value or 0)
        difference = built / published - 1
        limit, note = EXCEPTIONS.get(
            (place, entry.row), EXCEPTIONS.get((place, ""), (TOLERANCE, ""))
        )
        rows.append(
            CountRow(
                table=f"{place} ({entry.task}, {entry.direction})",
                name=entry.row,
                vocabulary=size,
                built=round(built, 3),
                published=published,
                difference=round(difference, 5),
                within=abs(difference) <= limit,
                note=entry.note or note,
            )
        )
    return rows


def preset_row(arch: str, flags: Mapping[str, Any], vocabulary: int) -> CountRow:
    """Returns the count of one architecture with flags and the user's vocabulary."""
    built = count(build(arch, flags, dummy_dictionary(vocabulary))) / MILLION
    name = " ".join([arch, *as_flags(flags)])
    return CountRow(table="architectures", name=name, vocabulary=vocabulary, built=round(built, 3))


def _is_count(entry: Entry) -> bool:
    return entry.measure == "params" and not entry.system.other and entry.value is not None


# a table's models have few vocabularies, of tens of thousands of types
_dictionary = functools.lru_cache(maxsize=4)(dummy_dictionary)


def built_count(entry: Entry, vocabulary: int) -> int:
    """Returns the number of parameters of an entry's model with a vocabulary."""
    return count(build(entry.system.arch, dict(entry.system.flags), _dictionary(vocabulary)))
