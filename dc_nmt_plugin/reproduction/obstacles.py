"""Reasons why a part of a table or figure cannot be made here: text, files, people, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from ..errors import UserError
from ..papers.schema import SCORES, Entry, Part
from ..recipes.recipe import load
from .jobs import Options
from .system import disagreements, has_recipe, training_of


@dataclass(frozen=True)
class NeededFile:
    """A file that the user has to give.

    Attributes:
        flag: of ``dc-nmt paper run``, with its value
        about: its content, and where it comes from
    """

    flag: str
    about: str

    def __str__(self) -> str:
        return f"{self.about} ({self.flag})."


# producer of a part → the file that it needs
FILES: Mapping[str, NeededFile] = {
    "probing": NeededFile(
        "--probing DIR",
        "the ten probing tasks of Conneau et al. 2018, folder data/probing of "
        "https://github.com/facebookresearch/SentEval",
    ),
    "parseval": NeededFile(
        "--trees FILE",
        "bracketed trees of the references of newstest2013, one a line, from an automatic parser "
        "(the paper: Stanford CoreNLP, https://stanfordnlp.github.io/CoreNLP)",
    ),
}
# producer of a part → people whose answers it shows; a plan ends with their sheets
PEOPLE: Mapping[str, str] = {
    "ranking": "people who rank the sentences; examples/blind_sheets.py writes sheets of the runs "
    "and counts the answers.",
}


def obstacle(part: Part, options: Options) -> str:
    """Returns why a part cannot be planned; "" if it can."""
    if part.state.kind == "needs":
        return part.state.missing
    if part.by in FILES and part.by not in options.files:
        return str(FILES[part.by])
    return next(filter(None, (obstacle_of(entry, options) for entry in part.entries)), "")


def obstacle_of(entry: Entry, options: Options) -> str:
    """Returns why an entry's run cannot be planned; "" if it can."""
    return next(_of_entry(entry, options), "")


def _of_entry(entry: Entry, options: Options) -> Iterator[str]:
    if entry.system.other or not entry.task or entry.measure in ("params", "setting"):
        return  # models are counted without any text
    if not has_recipe(entry):
        yield f"the text of {entry.task}: no recipe prepares it."
        return
    lacks = _lacks(training_of(entry).task)
    if lacks and not (options.any_counts or options.sample):
        yield f"{lacks}."
    yield from _other_settings(entry)


@cache  # a listing asks for every entry
def _lacks(task: str) -> str:
    return load(task).task.lacks


def _other_settings(entry: Entry) -> Iterator[str]:
    """Yields how an entry's run would differ from the published one."""
    try:
        found = disagreements(entry)
    except UserError as error:
        yield str(error)
        return
    # training speeds and parameter counts do not depend on decoding settings
    own = found if entry.measure in SCORES else [d for d in found if d.name.startswith("model.")]
    yield from (f"{entry.row}: our recipe has {difference}" for difference in own)
