"""The training runs of tables and figures, for their cost."""

from __future__ import annotations

from ..papers.register import read_register
from ..papers.schema import MEASURES, Entry, Item, Part
from .plan import UNTRAINED
from .selection import entries_shown
from .system import NeededTraining, has_recipe, training_of


def trainings_of(item: Item, part: Part | None = None) -> list[NeededTraining]:
    """Returns the training runs of an item or of one of its parts."""
    parts = [part] if part else item.parts
    entries = [entry for each in parts for entry in entries_shown(item, each)]
    return list(dict.fromkeys(map(training_of, filter(_is_trained, entries))))


def all_trainings() -> list[NeededTraining]:
    """Returns the training runs of all tables and figures."""
    items = [item for document in read_register() for item in document.items]
    return list(dict.fromkeys(run for item in items for run in trainings_of(item)))


def _is_trained(entry: Entry) -> bool:
    ours = not entry.system.other and MEASURES[entry.measure].fixed_by
    return bool(ours) and entry.measure not in UNTRAINED and has_recipe(entry)
