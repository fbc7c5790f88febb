"""Published scores of a task, one per row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..flags import as_flags
from ..table import markdown_table
from .effective_settings import needed_flags
from .register import read_register, task_named
from .schema import SCORES, Entry

HEADER = ("`--arch` and flags", "settings", "score", "by", "where")


@dataclass(frozen=True)
class Score:
    """The printed scores of one model, trained and decoded in one way.

    Attributes:
        model: ``--arch`` and flags
        settings: name of the published training
        value: as printed; several where places disagree
        metric: of `value`, with the subset and the decoder that are not the usual ones
        places: where it is printed
    """

    model: str
    settings: str
    value: str
    metric: str
    places: str


def published_scores(task: str) -> list[Score]:
    """Returns every published score of this plugin's architectures on a task, in order.

    Args:
        task: such as ``iwslt14_es_en``, languages in the order of the direction
    """
    found: dict[tuple[str, str, str], list[Entry]] = {}
    known = task_named(task)
    for document in read_register() if known else ():
        for entry in document.entries:
            if (entry.task, entry.direction) == known and _is_score(entry):
                found.setdefault(_key(entry), []).append(entry)
    rows = []
    for (model, settings, metric), entries in found.items():
        values = dict.fromkeys(str(entry.value) for entry in entries)
        places = dict.fromkeys(f"{entry.document}, {entry.item}" for entry in entries)
        rows.append(Score(model, settings, " or ".join(values), metric, "; ".join(places)))
    return rows


def published_tables(tasks: Sequence[str]) -> str:
    """Returns Markdown tables of a task's directions; empty if nothing is published."""
    blocks = []
    for task in tasks:
        rows = [
            (f"`{s.model}`", s.settings, s.value, f"`{s.metric}`", s.places)
            for s in published_scores(task)
        ]
        if rows:
            title = f"`{task}`:\n\n" if len(tasks) > 1 else ""
            blocks.append(title + markdown_table(HEADER, rows))
    return "\n\n".join(blocks)


def _is_score(entry: Entry) -> bool:
    whole = not entry.of and not entry.decoding.get("mask_source_layers")
    return entry.measure in SCORES and entry.value is not None and whole and not entry.system.other


def _key(entry: Entry) -> tuple[str, str, str]:
    flags = needed_flags(entry.system.arch, entry.system.flags)
    by = [entry.measure, *([entry.subset] if entry.subset != "test" else [])]
    by += [entry.part] if entry.part != "main" else []
    training = entry.training.name if entry.training else ""
    return " ".join([entry.system.arch, *as_flags(flags)]), training, ", ".join(by)
