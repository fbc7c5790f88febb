"""Reads the claims of a file, and the numbers of its text that follow from cells.

:mod:`.written` has their form, :mod:`.document` the data.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from .document import UNMEASURED, Claim, Derived, Subject
from .schema import Entry, Item
from .written import Located, WrittenClaim, WrittenDerived


def claims_of(
    document: str, written: Sequence[WrittenClaim], items: Sequence[Item]
) -> Iterator[Claim]:
    """Yields the claims of a document.

    Raises:
        UserError: an unknown cell, or a side that the comparison needs is missing
    """
    for claim in written:
        _check(claim)
        yield Claim(
            document, claim.name, claim.says, claim.place, claim.by, claim.expects,
            tuple(_cells(claim, text, items) for text in claim.evidence),
            tuple(map(_subject, claim.ours)), tuple(map(_subject, claim.than)), claim.analysis,
            claim.here, claim.seen,
        )  # fmt: skip


def derived_of(written: Sequence[WrittenDerived], items: Sequence[Item]) -> Iterator[Derived]:
    """Yields the numbers of a document's text that follow from cells.

    Raises:
        UserError: an unknown cell, or one without a number
    """
    for each in written:
        one, other = _cells(each, each.cells, items)
        if other is None or one.value is None or other.value is None:
            raise each.problem(f"cells: {each.cells!r} are not two numbers")
        yield Derived(each.place, each.value, each.unit, each.rule, (one, other), each.note)


def _subject(text: str) -> Subject:
    words, _, decode = text.partition(" / ")
    return Subject(tuple(shlex.split(words)), tuple(shlex.split(decode)))


def _check(claim: WrittenClaim) -> None:
    sides = {"ours": claim.ours, "than": claim.than, "evidence": claim.evidence}
    needed = {"params": ("evidence",), "analysis": ("ours",)}.get(claim.by, ("ours", "than"))
    for key in needed:
        if not sides[key]:
            raise claim.problem(f"{key}: is missing; {claim.by} compares it")
    if bool(claim.analysis) != (claim.by == "analysis"):
        raise claim.problem("analysis: goes with by: analysis, and only with it")
    if bool(claim.here) != (claim.seen != UNMEASURED) or (claim.here and not claim.analysis):
        raise claim.problem("here, seen: belong together, and to an analysis")


def _cells(place: Located, text: str, items: Sequence[Item]) -> tuple[Entry, Entry | None]:
    item, column, *rows = (part.strip() for part in text.split(" | "))
    place.check_choice("cells", item, [each.name for each in items])
    entries = next(each.entries for each in items if each.name == item)
    place.check_choice(f"{item}, column", column, {entry.column for entry in entries})
    found = {entry.row: entry for entry in entries if entry.column == column}
    if not rows or len(rows) > 2:
        raise place.problem(f"cells: {text!r} is not ITEM | COLUMN | ROW, with one row or two")
    for row in rows:
        place.check_choice(f"{item}, {column}", row, found)
    return found[rows[0]], found[rows[1]] if len(rows) > 1 else None
