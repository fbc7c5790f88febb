"""``dc-nmt paper``: shows and reproduces the tables and figures of the papers."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, UserError, check_choices, notify
from ...laboratory.commands.parser import (
    Parser,
    add_forms,
    add_json,
    add_text,
    form_of,
    number,
    numbers,
    print_columns,
    print_json,
    values_of,
)
from ...laboratory.commands.runs import add_estimate, add_grid, do_runs
from ...laboratory.table import LATEX, MARKDOWN, TEXT, NamedColumns, format_table, number_cell

if TYPE_CHECKING:
    from ..papers.comparison import ComparedNumber
    from ..papers.document import Entry, Item
    from ..papers.parameters import CountRow


def main(argv: Sequence[str]) -> int:
    args = _parser().parse_args(argv)
    if args.command == "run":
        return _run(args, argv)
    commands = {"list": _list, "show": _show, "table": _table, "parameters": _parameters}
    return commands[args.command](args)


def _parser() -> Parser:
    parser = Parser(prog="dc-nmt paper", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listed = commands.add_parser("list", help="list tables and figures, and which are reproducible")
    listed.add_argument("document", nargs="?", help="one of the five documents; default: all")
    show = commands.add_parser("show", help="print an item as published")
    run = commands.add_parser("run", help="run the missing steps of an item, then print its table")
    table = commands.add_parser("table", help="print measured beside published numbers")
    counts = commands.add_parser("parameters", help="print parameter counts beside published ones")
    counts.add_argument("--item", help="count one table alone, such as 'thesis, Table 3.2'")
    add_json(counts)
    for command in (show, run, table):
        command.add_argument("item", metavar="ITEM", help="such as 'thesis, Table 3.4'")
    for command in (run, table):
        command.add_argument(
            "--rows",
            type=_names,
            default=(),
            metavar="NAMES",
            help="only these rows and columns, separated by semicolons",
        )
    about = "random seeds; default: 1"
    table.add_argument("--seeds", type=numbers, default=(1,), metavar="LIST", help=about)
    show.add_argument("--markdown", action="store_true", help="print Markdown")
    add_forms(table, "markdown", "latex")
    run.add_argument("--max-update", type=number(1), metavar="N", help="number of updates")
    run.add_argument("--dry-run", action="store_true", help="print a shell script, run none")
    add_grid(run)
    add_estimate(run)
    run.add_argument(
        "--probing",
        type=_probing_tasks,
        metavar="DIR",
        help="folder data/probing of SentEval, for the probing tasks",
    )
    run.add_argument(
        "--trees",
        type=_file,
        metavar="FILE",
        help="bracketed trees of the references, one a line, for ParsEval",
    )
    add_text(run)
    return parser


def _probing_tasks(text: str) -> Path:
    """Checks the folder of the probing tasks, which are read only after the training."""
    from ..analysis.probing.tasks import FILES

    for name in FILES.values():
        _file(f"{text}/{name}")
    return Path(text)


def _file(text: str) -> Path:
    if not Path(text).exists() or Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a file")
    return Path(text)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(";") if name.strip())


def _list(args: argparse.Namespace) -> int:
    from ..papers.reader import DOCUMENTS, read_document

    for document in map(read_document, [args.document] if args.document else DOCUMENTS):
        lines = [line for item in document.items for line in _listed(item)]
        header = ("item", "rows", "reproducible", "what it shows")
        print(f"{document.name}: {document.title}\n\n{format_table(header, lines)}\n")
    return 0


def _listed(item: Item) -> list[tuple[str, ...]]:
    """Returns the line of an item, and a line for each thing that it needs."""
    reasons = {entry.reproducible for entry in item.entries} or {item.reproducible}
    needs = sorted(reason for reason in reasons if reason.startswith("needs"))
    word = "no"
    if "yes" in reasons:
        word = "partly" if needs else "yes"
    line = (item.name, str(len(item.rows) or ""), word, item.title)
    return [line, *(("", "", "", f"  {reason}") for reason in needs)]


# -- an item as published ------------------------------------------------------------------------


def _show(args: argparse.Namespace) -> int:
    from ..papers.reader import find_item

    item = find_item(args.item)
    form = MARKDOWN if args.markdown else TEXT
    print(f"{item.full_name} ({item.place}): {item.title}")
    if item.rows:
        print(f"\n{form.write(*_published_table(item))}")
    notes = _published_notes(item)
    print("\n" + "\n".join(notes) if notes else "")
    return 0


def _published_table(item: Item) -> tuple[list[str], list[list[str]]]:
    """Returns header and rows, as printed."""
    by_cell = {entry.cell: entry for entry in item.entries}
    columns = list(item.columns) or [""]
    rows = []
    for row in item.rows:
        cells = [_printed(by_cell.get((row.label, name))) for name in columns]
        rows.append([row.label, *cells])
    return ["row", *(name or "value" for name in columns)], rows


def _published_notes(item: Item) -> list[str]:
    """Returns what a reader of the numbers should know, each note once."""
    from ..papers.selection import runs_of
    from ..papers.systems import size_of

    notes = [item.note, *(f"{name}: {text}" for name, text in item.shows.items())]
    notes += [f"{entry.row}: {entry.note}" for entry in item.entries if entry.note]
    absent = {entry.absent for entry in item.entries if entry.value is None} - {""}
    notes += [f"no number where {reason}" for reason in sorted(absent)]
    notes += item.prose
    runs = runs_of(item)
    if runs:
        notes.append(f"to train all rows with one seed: {size_of(runs)}")
    return list(dict.fromkeys(filter(None, notes)))


def _printed(entry: Entry | None) -> str:
    if entry is None:
        return ""
    text = entry.text if entry.value is None else str(entry.value)
    if entry.difference is not None:
        text = f"{text} ({entry.difference:+})" if text else f"{entry.difference:+}"
    return f"{text}, p < {entry.p}" if entry.p is not None else text


# -- an item as measured -------------------------------------------------------------------------


def _run(args: argparse.Namespace, argv: Sequence[str]) -> int:
    from ..papers.plan import Options, added_baselines, plan, train_plan, training_runs
    from ..papers.reader import find_item
    from ..papers.selection import left_out
    from ..papers.systems import size_of

    item = find_item(args.item)
    folder = _folder_of(item)
    options = values_of(Options, args, seeds=args.seeds or (1,))
    grid = plan(item, args.rows, options, folder)
    for name, reason in left_out(item, args.rows, options.flags).items():
        notify(f"left out: {name}: {reason}")
    for name, rows in added_baselines(item, args.rows, options.flags).items():
        notify(f"also planned: {name}, to compare it with {', '.join(rows)}")
    needed = training_runs(item, args.rows, options)
    plans = [train_plan(training, seed, options) for seed in options.seeds for training in needed]
    do_runs(args, ["paper", *argv], grid, plans, short_script=True)
    if args.dry_run and needed:
        print(f"# {size_of(needed * len(options.seeds), args.max_update)}")
    return 0


def _folder_of(item: Item) -> Path:
    """Returns the folder of an item's analyses, with their figures."""
    name = re.sub(r"[^a-z0-9.]+", "-", item.full_name.lower()).strip("-")
    return Path("runs/papers") / name


def _table(args: argparse.Namespace) -> int:
    """``dc-nmt paper table``, which is also the end of ``dc-nmt paper run``."""
    from ..papers.comparison import compared_numbers
    from ..papers.reader import find_item

    check_choices("--columns", args.columns or (), COMPARED_COLUMNS)
    item = find_item(args.item)
    compared = compared_numbers(item, args.rows, args.seeds)
    columns = _compared(compared)
    if args.json and args.columns:
        print_columns(columns, args.columns)
    elif args.json:
        print_json(
            [{**asdict(cell), "mean": cell.mean, "deviation": cell.deviation} for cell in compared]
        )
    elif compared:
        form = form_of(args)
        title = f"{item.full_name}: {item.title}"
        print(form.lines([title]) if form is LATEX else title)
        print(f"\n{columns.written(form, args.columns)}\n")
        print(form.lines(_notes(compared)))
    else:
        _print_analyses(item)
    return 0


def _print_analyses(item: Item) -> None:
    folder = _folder_of(item)
    paths = sorted(folder.glob("*.txt"))
    if not paths:
        raise UserError(
            f"{item.full_name}: no number of it is a run's, and {folder} has no analysis yet; "
            f"dc-nmt paper run '{item.full_name}' makes it"
        )
    print("\n\n".join(f"{path}\n\n{path.read_text('utf-8').strip()}" for path in paths))


COMPARED_COLUMNS = {  # name of --columns → heading
    "row": "row",
    "column": "column",
    "by": "by",
    "published": "published",
    "measured": "measured",
    "sd": "± sd",
    "seeds": "seeds",
    "to-published": "to published",
    "published-difference": "published diff.",
    "published-p": "published p",
    "difference": "difference",
}
_COMPARED_ON_A_PAGE = (
    "row", "column", "published", "measured", "sd", "to-published", "published-difference",
    "difference", "published-p",
)  # fmt: skip


def _compared(cells: Sequence[ComparedNumber]) -> NamedColumns:
    rows = []
    for cell in cells:
        rows.append(
            {
                "row": cell.row,
                "column": cell.column,
                "by": cell.measure,
                "published": cell.published or "",
                "measured": number_cell(cell.mean, ".2f"),
                "sd": number_cell(cell.deviation, ".2f"),
                "seeds": str(len(cell.ours)),
                "to-published": number_cell(cell.gap, "+.2f"),
                "published-difference": cell.published_difference or "",
                "published-p": f"< {cell.published_p}" if cell.published_p else "",
                "difference": number_cell(cell.difference, "+.2f"),
            }
        )
    return NamedColumns(COMPARED_COLUMNS, rows, _COMPARED_ON_A_PAGE)


def _notes(cells: Sequence[ComparedNumber]) -> list[str]:
    notes = ["measured: mean over the seeds that are trained to their end and scored, as recorded"]
    if any(cell.difference is not None for cell in cells):
        notes.append("difference: over the seeds that both have; dc-nmt compare tests it")
    # each setting in which runs differ from the published ones, once
    differing = dict.fromkeys(text for cell in cells for text in cell.other_settings)
    against = [text for cell in cells for text in cell.other_settings_against]
    notes += [f"to published: nothing for runs of other settings: {text}" for text in differing]
    alone = [text for text in dict.fromkeys(against) if text not in differing]
    return notes + [f"difference: to a run of other settings: {text}" for text in alone]


# -- parameters ----------------------------------------------------------------------------------


def _parameters(args: argparse.Namespace) -> int:
    """``dc-nmt paper parameters``; exit status 1 for a count that differs from the published."""
    from ..papers.parameters import published_items, published_rows
    from ..papers.reader import find_item

    tables = dict(published_items())
    if args.item:
        name = find_item(args.item).full_name
        if name not in tables:
            raise UsageError(f"--item: {name} has no parameter counts; {', '.join(tables)} have")
        tables = {name: tables[name]}
    rows = [row for name, entries in tables.items() for row in published_rows(name, entries)]
    if args.json:
        print_json([asdict(row) for row in rows])
    else:
        print("\n\n".join(_count_tables(rows)))
    return 0 if all(row.within for row in rows) else 1


def _count_tables(rows: Sequence[CountRow]) -> list[str]:
    header = ("model", "vocabulary", "built (M)", "published (M)", "difference", "check", "note")
    texts = []
    for table in dict.fromkeys(row.table for row in rows):
        lines = [_count_cells(row) for row in rows if row.table == table]
        texts.append(f"{table}\n{format_table(header, lines)}")
    return texts


def _count_cells(row: CountRow) -> list[Any]:
    cells = [row.name, f"{row.vocabulary:,}", f"{row.built:.3f}", f"{row.published:g}"]
    return [*cells, f"{row.difference:+.2%}", "ok" if row.within else "NOT MET", row.note]
