"""``dc-nmt paper list`` and ``show``: print the published numbers."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..table import TEXT, format_table
from .paper_costs import COLUMNS, cells, note, of_rows, sentence
from .parser import form_of, print_json

if TYPE_CHECKING:
    from ..papers.document import Derived
    from ..papers.schema import Entry, Item


def list_items(args: argparse.Namespace) -> int:
    """``dc-nmt paper list``."""
    from ..papers.register import DOCUMENTS, read_document
    from ..reproduction.costs import cost_of_runs
    from ..reproduction.item_costs import trainings_of
    from ..reproduction.state import in_a_word, state_of

    documents = [read_document(name) for name in ([args.document] if args.document else DOCUMENTS)]
    if args.json:
        rows = [
            {
                "document": document.name, "item": item.name, "row": part.name,
                "shows": part.shows or item.title, "state": made.kind, "how": made.how,
                "entries": len(part.entries),
                "cost": asdict(cost_of_runs(trainings_of(item, part))),
            }
            for document in documents
            for item in document.items
            for part in item.parts
            for made in [state_of(item, part)]
        ]  # fmt: skip
        print_json(rows)
        return 0
    for document in documents:
        print(f"{document.name}: {document.title}\n")
        lines = []
        for item in document.items:
            states = [state_of(item, part) for part in item.parts]
            reasons = {made.how for made in states if made.kind == "needs"}
            cost = cells(cost_of_runs(trainings_of(item)))
            lines.append((item.name, str(len(states) or ""), in_a_word(states), *cost, item.title))
            none = ("",) * (len(COLUMNS) + 3)
            lines += [(*none, f"  needs {reason}") for reason in sorted(reasons)]
        header = ("item", "rows", "state", *COLUMNS, "what it shows")
        print(format_table(header, lines), end="\n\n")
    print(note())
    return 0


def show_item(args: argparse.Namespace) -> int:
    """``dc-nmt paper show``."""
    from ..papers.register import derived_of, find_item
    from ..reproduction.costs import cost_of_runs
    from ..reproduction.item_costs import trainings_of

    item = find_item(args.item)
    if args.json:
        print_json(_as_json(item))
        return 0
    by_cell = {(entry.row, entry.column): entry for entry in item.entries}
    columns = item.columns or ("",)
    header = ["", *(name or "value" for name in columns)]
    rows = [[row, *(_printed(by_cell.get((row, c))) for c in columns)] for row in item.rows]
    form = form_of(args)
    print(f"{form.comment}{item.document}, {item.name} ({item.place}): {item.title}")
    if rows:
        print(f"\n{form.write(header, rows)}")
    notes = [item.note, *(f"{e.row}: {e.note}" for e in item.entries if e.note)]
    absent = {entry.absent for entry in item.entries if entry.absent and entry.value is None}
    notes += [f"no number where {reason}" for reason in sorted(absent)]
    notes += [_derived(each) for each in derived_of(item)]
    cost = cost_of_runs(trainings_of(item))
    notes += [f"to train all rows with one seed: {sentence(cost)}"] if cost.runs else []
    shown = list(dict.fromkeys(filter(None, notes)))
    print(f"\n{form.lines(shown)}" if shown else "")
    if form is TEXT and cost.runs:
        print(f"\n{of_rows(item)}\n\n{note()}" if len(item.parts) > 1 else f"\n{note()}")
    return 0


def _derived(each: Derived) -> str:
    one, other = each.cells
    slower = " slower" if each.rule == "slower" else ""
    text = f"{each.place} prints {each.value}{each.unit}{slower}"
    text += f" from {one.value} ({one.row}) and {other.value} ({other.row})"
    if not each.agrees:
        text += f", which give {each.computed:.2f}"
    return f"{text}: {each.note}" if each.note else text


def _printed(entry: Entry | None) -> str:
    if entry is None:
        return ""
    text = entry.text if entry.value is None else str(entry.value)
    if entry.difference is not None:
        text = f"{text} ({entry.difference:+})" if text else f"{entry.difference:+}"
    return f"{text}, p < {entry.p}" if entry.p is not None else text


def _as_json(item: Item) -> dict[str, Any]:
    cells = [
        {
            "row": e.row, "column": e.column, "system": e.system.name, "arch": e.system.arch,
            "flags": dict(e.system.flags), "task": e.task, "direction": e.direction,
            "subset": e.subset, "set": e.set, "part": e.part, "decoding": dict(e.decoding),
            "training": e.training.name if e.training else "", "measure": e.measure, "of": e.of,
            "value": None if e.value is None else str(e.value),
            "difference": None if e.difference is None else str(e.difference),
            "p": None if e.p is None else str(e.p), "against": e.against, "text": e.text,
            "absent": e.absent, "note": e.note,
        }
        for e in item.entries
    ]  # fmt: skip
    from ..papers.register import derived_of

    about = {name: getattr(item, name) for name in ("title", "place", "note")}
    derived = [
        {
            "place": each.place, "value": str(each.value), "unit": each.unit, "rule": each.rule,
            "rows": [cell.row for cell in each.cells], "column": each.cells[0].column,
            "computed": round(each.computed, 4), "agrees": each.agrees, "note": each.note,
        }
        for each in derived_of(item)
    ]  # fmt: skip
    facts = {"document": item.document, "item": item.name, **about, "cells": cells}
    return {**facts, "derived": derived}
