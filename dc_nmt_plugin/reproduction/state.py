"""Finds out if existing commands and recipes can make a part of a table or figure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..analysis.names import ABOUT
from ..errors import UserError
from ..papers.schema import SCORES, Entry, Part
from .system import disagreements

# producer of a part → the command
COMMANDS = {
    "score": "dc-nmt paper run",
    "plot": "dc-nmt paper plot",
    "lengths": "dc-nmt analyze lengths",
    "compare": "dc-nmt compare",
    "t-test": "dc-nmt compare --t-test",
    "source-layers": "dc-nmt paper run",
    "examples": "dc-nmt results --examples",
    "architecture": "dc-nmt train",
    "bench": "dc-nmt bench",
    "params": "dc-nmt params",
    "ranking": "dc-nmt rank",
    "probing": "dc-nmt probe",
    "language-model": "dc-nmt paper run",
    "attention": "dc-nmt analyze attention",
    "divergence": "dc-nmt analyze divergence",
    "gates": "dc-nmt analyze gates",
    "gates-by-tag": "dc-nmt analyze parts-of-speech",
    "routing": "dc-nmt analyze routing",
    "dependency": "dc-nmt analyze dependency",
    "positions": "dc-nmt analyze previous-words",
    "matrices": "dc-nmt analyze matrix",
    "trees": "dc-nmt analyze trees",
}
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


def state_of(part: Part) -> Made:
    """Returns whether a part can be made, and by which command."""
    if part.state.kind == "drawing":
        return Made("drawing")
    if part.state.kind == "needs":
        return Made("needs", part.state.missing)
    if part.state.kind == "reported" or part.by == "settings":
        return Made("data", "dc-nmt paper show")
    command = COMMANDS[part.by]
    what = command.removeprefix("dc-nmt analyze ")
    if what != command and what not in ABOUT:
        return Made("needs", f"analysis: {what}")
    entries = () if part.by in ("params", "bench") else part.entries  # they need no text
    problems = [problem for entry in entries for problem in _problems(entry)]
    return Made("needs", problems[0]) if problems else Made("run", command)


def in_a_word(states: Collection[Made]) -> str:
    """Returns one word for an item: ``run``, ``partly``, ``data``, ``needs`` or ``drawing``."""
    if not states:
        return "drawing"
    kinds = {made.kind for made in states}
    if "needs" not in kinds:
        return "run" if "run" in kinds else "data"
    return "needs" if kinds == {"needs"} else "partly"


def _problems(entry: Entry) -> list[str]:
    """Returns why an entry's run would differ from the published one."""
    if entry.system.other or not entry.task:
        return []
    try:
        found = disagreements(entry)
    except UserError as error:
        return [str(error)]
    # training speeds and parameter counts do not depend on decoding settings
    own = found if entry.measure in SCORES else [d for d in found if d.name.startswith("model.")]
    return [f"{entry.row}: our recipe has {difference}" for difference in own]
