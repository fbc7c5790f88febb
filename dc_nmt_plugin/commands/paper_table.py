"""``dc-nmt paper table`` and ``plot``: measured numbers of finished runs beside published ones."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UserError
from ..table import number_cell
from .parser import form_of, print_json

if TYPE_CHECKING:
    from ..evaluation.chance import Difference
    from ..papers.schema import Item
    from ..reproduction.comparison import Cell

FOLDER = Path("runs/papers")


def progress_lines(args: argparse.Namespace) -> contextlib.AbstractContextManager[object]:
    """Sends progress lines to standard error, if standard output is for JSON."""
    return contextlib.redirect_stdout(sys.stderr) if args.json else contextlib.nullcontext()


def has_numbers(item: Item, args: argparse.Namespace) -> bool:
    from ..reproduction.plan import of_runs
    from ..reproduction.selection import entries_of

    return any(of_runs(entry) and not entry.of for entry in entries_of(item, args.rows))


def show_table(args: argparse.Namespace) -> int:
    from ..papers.register import find_item
    from ..reproduction.comparison import cells

    item = find_item(args.item)
    if args.command == "table" and not args.json and not has_numbers(item, args):
        return _print_analyses(item)
    found = cells(item, args.rows, args.seeds, args.sample)
    if args.json:
        facts = [{**asdict(cell), "mean": cell.mean, "deviation": cell.deviation} for cell in found]
        print_json(facts)
    else:
        form = form_of(args)
        print(f"{form.comment}{item.document}, {item.name}: {item.title}\n")
        print(f"{form.write(*_cells(found, args.sample is None))}\n")
        print(form.lines(_notes(found, args)))
    if args.command == "run" and item.name.startswith("Figure"):
        with progress_lines(args):
            for path in _draw(item, found, args, FOLDER / slug(item) / "figure"):
                print(f"written: {path}")
    return 0


def _print_analyses(item: Item) -> int:
    """Prints the output of an item's analyses.

    Raises:
        UserError: there is none
    """
    folder = FOLDER / slug(item)
    paths = sorted(folder.glob("*.txt"))
    if not paths:
        raise UserError(
            f"{item.full_name}: no number of it is a run's, and {folder} has no analysis yet; "
            f"dc-nmt paper run '{item.full_name}' makes it"
        )
    print("\n\n".join(f"{path}\n\n{path.read_text('utf-8').strip()}" for path in paths))
    return 0


def _cells(found: Sequence[Cell], whole: bool) -> tuple[list[str], list[list[str]]]:
    from ..evaluation.difference_text import TEST_COLUMNS, test_cells

    header = ["", "", "by", "published", "measured", "± sd", "seeds", "to published",
              "published diff.", "published p", *TEST_COLUMNS]  # fmt: skip
    rows = []
    for cell in found:
        gap = cell.gap if whole else None
        rows.append([
            cell.row, cell.column, cell.measure, cell.published or "",
            number_cell(cell.mean, ".2f"), number_cell(cell.deviation, ".2f"),
            str(len(cell.ours)), number_cell(gap, "+.2f"), cell.published_difference or "",
            f"< {cell.published_p}" if cell.published_p else "",
            *test_cells(cell.difference, cell.tested, cell.corrected_p, several=True),
        ])  # fmt: skip
    return header, rows


def _notes(found: Sequence[Cell], args: argparse.Namespace) -> list[str]:
    notes = ["measured: mean over the seeds that are trained to their end and scored"]
    if any(cell.tested for cell in found):
        notes += _test_notes(found)
    if args.sample is not None:
        notes.append("a sample: small text, narrow models; not comparable with published numbers")
    return notes + _setting_notes(found)


def _test_notes(found: Sequence[Cell]) -> list[str]:
    """Returns notes that explain differences, intervals and p, for each baseline and metric."""
    from ..evaluation.difference_text import difference_notes

    families: dict[tuple[str, str], dict[str, Difference | None]] = {}
    for cell in found:
        if cell.tested:
            name = " ".join(filter(None, (cell.row, cell.column)))
            families.setdefault((cell.against, cell.measure), {})[name] = cell.tested
    notes = [
        note
        for (against, measure), tests in families.items()
        for note in difference_notes(tests, against, measure)
    ]
    return ["differences are over the seeds that both have", *dict.fromkeys(notes)]


def _setting_notes(found: Sequence[Cell]) -> list[str]:
    """Returns a note for each setting in which runs differ from the published ones."""
    differing = dict.fromkeys(text for cell in found for text in cell.other_settings)
    against = dict.fromkeys(text for cell in found for text in cell.other_settings_against)
    notes = [f"to published: nothing for runs of other settings: {text}" for text in differing]
    alone = [text for text in against if text not in differing]
    notes += [f"difference: to a run of other settings: {text}" for text in alone]
    return notes


def draw_plot(args: argparse.Namespace) -> int:
    from ..papers.register import find_item
    from ..reproduction.comparison import cells

    item = find_item(args.item)
    found = cells(item, args.rows, args.seeds, args.sample, test=False)
    for path in _draw(item, found, args, args.out or FOLDER / slug(item) / "figure"):
        print(f"written: {path}")
    print("".join(f"{note}\n" for note in _setting_notes(found)), end="")
    return 0


def _draw(item: Item, found: Sequence[Cell], args: argparse.Namespace, path: Path) -> list[Path]:
    from ..reproduction.curve import draw

    path.parent.mkdir(parents=True, exist_ok=True)
    sample = "" if args.sample is None else f" (a sample of {args.sample} pairs)"
    return draw(found, f"{item.full_name}{sample}", path, item.origin)


def slug(item: Item) -> str:
    text = f"{item.document}-{item.name}".lower()
    return re.sub(r"[^a-z0-9.]+", "-", text).strip("-")
