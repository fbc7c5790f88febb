"""Finds out if existing commands and recipes can make a part of a table or figure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from ..papers.schema import Item, Part
from .jobs import Options
from .obstacles import PEOPLE, obstacle, obstacle_of
from .outcome import lacking
from .plan import plan_entries
from .producers import COMMANDS
from .selection import entries_shown

# run: `how` is a command; data: the register has the numbers; needs: `how` is the reason
KINDS = ("run", "data", "needs", "drawing")


@dataclass(frozen=True)
class Made:
    """Describes if a part can be made.

    Attributes:
        kind: of :data:`KINDS`
        how: a command, or the missing part
    """

    kind: str
    how: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.how}" if self.how else self.kind


def state_of(item: Item, part: Part, options: Options | None = None) -> Made:
    """Returns whether a part can be made, and by which command.

    ``run`` says that its plan ends in what the part shows.

    Args:
        options: of the plan, such as the user's files; None for none
    """
    if part.state.kind == "drawing":
        return Made("drawing")
    if part.state.kind == "reported" or part.by == "settings":
        return Made("data", "dc-nmt paper show")
    options = options or Options()
    reason = obstacle(part, options)
    if reason:
        return Made("needs", reason)
    if part.by in PEOPLE:
        return Made("needs", PEOPLE[part.by])
    entries = [entry for entry in entries_shown(item, part) if not entry.system.other]
    marks = () if part.entries else (part,)
    if marks:  # of the rows that can be made
        reasons = {id(entry): obstacle_of(entry, options) for entry in entries}
        left = [entry for entry in entries if not reasons[id(entry)]]
        if entries and not left:
            return Made("needs", reasons[id(entries[0])])
        entries = left
    jobs = plan_entries(item, entries, marks, options, Path(), against=False)
    missing = lacking(item, part, entries, jobs)
    return Made("needs", f"{missing}.") if missing else Made("run", COMMANDS[part.by])


def in_a_word(states: Collection[Made]) -> str:
    """Returns one word for an item: ``run``, ``partly``, ``data``, ``needs`` or ``drawing``."""
    if not states:
        return "drawing"
    kinds = {made.kind for made in states}
    if "needs" not in kinds:
        return "run" if "run" in kinds else "data"
    return "needs" if kinds == {"needs"} else "partly"
