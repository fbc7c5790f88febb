"""Turns the claims of a file into :class:`.document.Claim`; see :mod:`.written` for their form."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from .document import Claim, Subject
from .schema import Entry, Item
from .written import WrittenClaim


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
        )  # fmt: skip


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


def _cells(claim: WrittenClaim, text: str, items: Sequence[Item]) -> tuple[Entry, Entry | None]:
    item, column, *rows = (part.strip() for part in text.split(" | "))
    claim.check_choice("evidence", item, [each.name for each in items])
    entries = next(each.entries for each in items if each.name == item)
    claim.check_choice(f"{item}, column", column, {entry.column for entry in entries})
    found = {entry.row: entry for entry in entries if entry.column == column}
    if not rows or len(rows) > 2:
        raise claim.problem(f"evidence: {text!r} is not ITEM | COLUMN | ROW, with one row or two")
    for row in rows:
        claim.check_choice(f"{item}, {column}", row, found)
    return found[rows[0]], found[rows[1]] if len(rows) > 1 else None
