"""What ``dc-nmt paper`` prints."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..table import format_table, number_cell
from .parser import form_of, print_json, write_plot

if TYPE_CHECKING:
    from ..papers.comparison import Cell
    from ..papers.document import Entry, Item
    from ..papers.parameters import CountRow


def folder_of(item: Item) -> Path:
    """Returns the folder of an item's analyses and figures."""
    name = re.sub(r"[^a-z0-9.]+", "-", item.full_name.lower()).strip("-")
    return Path("runs/papers") / name


def list_items(args: argparse.Namespace) -> int:
    """``dc-nmt paper list``."""
    from ..papers.reader import DOCUMENTS, read_document

    documents = [read_document(name) for name in ([args.document] if args.document else DOCUMENTS)]
    for document in documents:
        lines = []
        for item in document.items:
            reasons = {entry.reproducible for entry in item.entries} or {item.reproducible}
            needs = sorted(reason for reason in reasons if reason.startswith("needs"))
            word = "no"
            if "yes" in reasons:
                word = "partly" if needs else "yes"
            lines.append((item.name, str(len(item.rows) or ""), word, item.title))
            lines += [("", "", "", f"  {reason}") for reason in needs]
        header = ("item", "rows", "reproducible", "what it shows")
        print(f"{document.name}: {document.title}\n\n{format_table(header, lines)}\n")
    return 0


def show_item(args: argparse.Namespace) -> int:
    """``dc-nmt paper show``."""
    from ..papers.reader import find_item
    from ..papers.selection import runs_of
    from ..papers.systems import size_of

    item = find_item(args.item)
    if args.json:
        print_json(_facts(item))
        return 0
    by_cell = {entry.cell: entry for entry in item.entries}
    columns = list(item.columns) or [""]
    rows = []
    for row in item.rows:
        cells = [_printed(by_cell.get((row.label, name))) for name in columns]
        rows.append([row.label, *cells])
    form = form_of(args)
    print(f"{form.comment}{item.full_name} ({item.place}): {item.title}")
    if rows:
        print(f"\n{form.write(['row', *(name or 'value' for name in columns)], rows)}")
    absent = {each.absent for each in item.entries if each.absent and each.value is None}
    notes = [item.note, *(f"{name}: {text}" for name, text in item.shows.items())]
    notes += [f"{each.row}: {each.note}" for each in item.entries if each.note]
    notes += [f"no number where {reason}" for reason in sorted(absent)]
    notes += item.prose
    runs = runs_of(item)
    if runs:
        notes.append(f"to train all rows with one seed: {size_of(runs)}")
    shown = list(dict.fromkeys(note for note in notes if note))
    print(f"\n{form.lines(shown)}" if shown else "")
    return 0


def _printed(entry: Entry | None) -> str:
    if entry is None:
        return ""
    text = entry.text if entry.value is None else str(entry.value)
    if entry.difference is not None:
        text = f"{text} ({entry.difference:+})" if text else f"{entry.difference:+}"
    return f"{text}, p < {entry.p}" if entry.p is not None else text


def _facts(item: Item) -> dict[str, Any]:
    import msgspec

    names = ("document", "title", "place", "note", "prose")
    about = {name: getattr(item, name) for name in names}
    return {**about, "item": item.name, "cells": msgspec.to_builtins(item.entries)}


def show_table(args: argparse.Namespace) -> int:
    """``dc-nmt paper table``, and the end of ``dc-nmt paper run``."""
    from ..papers.comparison import cells
    from ..papers.curve import draw
    from ..papers.reader import find_item

    item = find_item(args.item)
    compared = cells(item, args.rows, args.seeds)
    if args.json:
        print_json(
            [{**asdict(cell), "mean": cell.mean, "deviation": cell.deviation} for cell in compared]
        )
    elif compared:
        form = form_of(args)
        print(f"{form.comment}{item.full_name}: {item.title}\n")
        keys = {} if form.comment or args.markdown else {"keys": 2}
        print(f"{form.write(*_compared(compared), **keys)}\n")
        print(form.lines(_notes(compared)))
    elif args.command == "table":
        _print_analyses(item)
    if args.plot and (compared or args.command == "table"):
        write_plot(draw(compared, item.full_name, item.origin), args.plot)
    return 0


def _print_analyses(item: Item) -> None:
    folder = folder_of(item)
    paths = sorted(folder.glob("*.txt"))
    if not paths:
        raise UserError(
            f"{item.full_name}: no number of it is a run's, and {folder} has no analysis yet; "
            f"dc-nmt paper run '{item.full_name}' makes it"
        )
    print("\n\n".join(f"{path}\n\n{path.read_text('utf-8').strip()}" for path in paths))


def _compared(cells: Sequence[Cell]) -> tuple[list[str], list[list[str]]]:
    from ..evaluation.difference_text import TEST_COLUMNS, test_cells

    header = ["row", "column", "by", "published", "measured", "± sd", "seeds", "to published"]
    header += ["published diff.", "published p", *TEST_COLUMNS]
    rows = []
    for cell in cells:
        row = [cell.row, cell.column, cell.measure, cell.published or ""]
        row += [number_cell(cell.mean, ".2f"), number_cell(cell.deviation, ".2f")]
        row += [str(len(cell.ours)), number_cell(cell.gap, "+.2f")]
        row += [cell.published_difference or "", f"< {cell.published_p}" * bool(cell.published_p)]
        row += test_cells(cell.difference, cell.tested, cell.corrected_p, several=True)
        rows.append(row)
    return header, rows


def _notes(cells: Sequence[Cell]) -> list[str]:
    from ..evaluation.difference_text import difference_notes

    notes = ["measured: mean over the seeds that are trained to their end and scored"]
    families: dict[tuple[str, str], dict[str, Any]] = {}
    for cell in cells:
        if cell.tested:
            name = f"{cell.row} {cell.column}".strip()
            families.setdefault((cell.against, cell.measure), {})[name] = cell.tested
    if families:
        notes.append("differences are over the seeds that both have")
    for (against, measure), tests in families.items():
        notes += difference_notes(tests, against, measure)
    # each setting in which runs differ from the published ones, once
    differing = dict.fromkeys(text for cell in cells for text in cell.other_settings)
    of_baseline = dict.fromkeys(text for cell in cells for text in cell.other_settings_against)
    notes += [f"to published: nothing for runs of other settings: {text}" for text in differing]
    alone = [text for text in of_baseline if text not in differing]
    notes += [f"difference: to a run of other settings: {text}" for text in alone]
    return list(dict.fromkeys(notes))


def print_counts(rows: Sequence[CountRow], as_json: bool) -> int:
    """Prints parameter counts; returns 1 if one differs from the published count."""
    if as_json:
        print_json([asdict(row) for row in rows])
    else:
        header = [
            "model",
            "vocabulary",
            "built (M)",
            "published (M)",
            "difference",
            "check",
            "note",
        ]
        blocks = []
        for table in dict.fromkeys(row.table for row in rows):
            lines = [_count_cells(row) for row in rows if row.table == table]
            blocks.append(f"{table}\n{format_table(header, lines)}")
        print("\n\n".join(blocks))
    return 1 if any(row.within is False for row in rows) else 0


def _count_cells(row: CountRow) -> list[str]:
    verdict = {None: "", True: "ok", False: "NOT MET"}[row.within]
    cells = [row.name, f"{row.vocabulary:,}", f"{row.built:.3f}", number_cell(row.published, "g")]
    return [*cells, number_cell(row.difference, "+.2%"), verdict, row.note]
