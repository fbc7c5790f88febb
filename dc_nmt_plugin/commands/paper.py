"""``dc-nmt paper``: shows and reproduces the tables and figures of the papers."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError, UserError
from ..figure import FORMATS
from ..table import number_cell
from .paper_claims import add_claims, show_claims
from .paper_costs import of_jobs
from .paper_register import list_items, show_item
from .parser import Parser, add_forms, figure, form_of, number, print_json
from .recipe_options import add_text

if TYPE_CHECKING:
    from ..evaluation.chance import Difference
    from ..papers.schema import Item
    from ..reproduction.comparison import Cell
    from ..reproduction.jobs import Job

FOLDER = Path("runs/papers")


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt paper COMMAND …``."""
    args = parser().parse_args(argv)
    commands = {"list": list_items, "claims": show_claims, "show": show_item, "run": _run,
                "table": _table, "plot": _plot}  # fmt: skip
    return commands[args.command](args)


def parser() -> Parser:
    """Returns the options of the command."""
    parser = Parser(prog="dc-nmt paper", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listed = commands.add_parser(
        "list", help="list tables, figures and experiments, and whether they can be made"
    )
    listed.add_argument("document", nargs="?", help="one of the five documents; default: all")
    listed.add_argument(
        "--json", action="store_true", help="print every row, and the reason if it cannot be run"
    )
    add_claims(commands)
    show = commands.add_parser("show", help="print an item as published")
    run = commands.add_parser("run", help="run the missing steps of an item, then print its table")
    table = commands.add_parser(
        "table", help="print measured beside published numbers of finished runs"
    )
    plot = commands.add_parser("plot", help="draw the curves of an item from finished runs")
    for command in (show, run, table, plot):
        command.add_argument(
            "item", metavar="ITEM", help="name of an item, such as 'thesis, Table 3.4'"
        )
    for command in (run, table, plot):
        _add_choice(command)
    for command in (show, run, table):
        add_forms(command, "markdown", "latex")
    plot.add_argument(
        "--out", type=figure, metavar="FILE",
        help=f"{', '.join(FORMATS)}; a name without ending becomes .png and .svg",
    )  # fmt: skip
    run.add_argument("--max-update", type=number(1), metavar="N", help="number of updates")
    run.add_argument(
        "--dry-run", action="store_true", help="print the commands without running them"
    )
    run.add_argument(
        "--on", choices=("local", "slurm", "submitit-local"), default="local",
        help=("run here, or as jobs of a cluster (pip install 'dc_nmt_plugin[slurm]')"),
    )  # fmt: skip
    run.add_argument(
        "--sbatch",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=(
            "option of sbatch with --on slurm, such as partition=gpu or time=600 (minutes);"
            " may be repeated"
        ),
    )
    run.add_argument(
        "--probing", type=_there, metavar="DIR",
        help="folder data/probing of SentEval, for the probing tasks",
    )  # fmt: skip
    run.add_argument(
        "--trees", type=_there, metavar="FILE",
        help="bracketed trees of the references, one a line, for ParsEval",
    )  # fmt: skip
    add_text(run)
    return parser


def _add_choice(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--rows", type=_names, default=(), metavar="NAMES",
        help="only these rows, separated by semicolons",
    )  # fmt: skip
    command.add_argument(
        "--seeds", type=_numbers, default=(1,), metavar="LIST", help="random seed; default: 1"
    )
    command.add_argument(
        "--sample", type=number(20), metavar="N", help="trial run with about N training pairs"
    )


def _there(text: str) -> Path:
    path = Path(text)
    if not path.exists():
        raise argparse.ArgumentTypeError(f"{text!r} does not exist")
    return path


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(";") if name.strip())


def _numbers(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+(,\d+)*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not numbers separated by commas")
    return tuple(dict.fromkeys(int(part) for part in text.split(",")))


def _run(args: argparse.Namespace) -> int:
    from ..papers.register import find_item
    from ..pipeline import stoppable
    from ..reproduction import execute
    from ..reproduction.jobs import Options
    from ..reproduction.plan import plan

    if args.sbatch and args.on != "slurm":
        raise UsageError("--sbatch: has an effect with --on slurm only; add that flag")
    sbatch = execute.sbatch_options(args.sbatch)
    item = find_item(args.item)
    folder = FOLDER / _slug(item)
    text = ["--downloads", str(args.downloads)]
    text += ["--raw", str(args.raw)] if args.raw else []
    text += ["--any-counts"] if args.any_counts else []
    given = {"probing": args.probing, "parseval": args.trees}
    files = {name: str(path) for name, path in given.items() if path}
    options = Options(args.seeds, args.sample, args.max_update, tuple(text), args.any_counts, files)
    jobs = plan(item, args.rows, options, folder)
    if args.dry_run:
        return _print_jobs([(job, "") for job in jobs], args)
    if args.on != "local":
        cluster = args.on.removeprefix("submitit-")
        return _print_jobs(execute.submit(jobs, folder / "jobs", cluster, sbatch), args)
    with _progress(args):
        with stoppable():
            execute.run_here(jobs)
        print(f"\nanalyses and figures: {folder}\n" if any(j.output for j in jobs) else "")
    if _has_numbers(item, args):
        return _table(args)
    if args.json:
        print("[]")
    return 0


def _print_jobs(jobs: Iterable[tuple[Job, str]], args: argparse.Namespace) -> int:
    """Prints jobs, each with its number on the cluster, if it has one."""
    listed = list(jobs)
    if args.json:
        facts = [
            {"job": place or None, "command": str(job), "cost": job.cost and asdict(job.cost)}
            for job, place in listed
        ]
        print_json(facts)
        return 0
    print("\n".join(f"{place}: {job}" if place else str(job) for job, place in listed))
    if args.dry_run:
        for line in of_jobs([job for job, _ in listed]):
            print(f"# {line}")
    return 0


def _progress(args: argparse.Namespace) -> contextlib.AbstractContextManager[object]:
    """Sends progress lines to standard error, if standard output is for JSON."""
    return contextlib.redirect_stdout(sys.stderr) if args.json else contextlib.nullcontext()


def _has_numbers(item: Item, args: argparse.Namespace) -> bool:
    from ..reproduction.plan import entries_of, of_runs

    return any(of_runs(entry) and not entry.of for entry in entries_of(item, args.rows))


def _table(args: argparse.Namespace) -> int:
    from ..papers.register import find_item
    from ..reproduction.comparison import cells

    item = find_item(args.item)
    if args.command == "table" and not args.json and not _has_numbers(item, args):
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
        with _progress(args):
            for path in _draw(item, found, args, FOLDER / _slug(item) / "figure"):
                print(f"written: {path}")
    return 0


def _print_analyses(item: Item) -> int:
    """Prints the output of an item's analyses.

    Raises:
        UserError: there is none
    """
    folder = FOLDER / _slug(item)
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


def _plot(args: argparse.Namespace) -> int:
    from ..papers.register import find_item
    from ..reproduction.comparison import cells

    item = find_item(args.item)
    found = cells(item, args.rows, args.seeds, args.sample, test=False)
    for path in _draw(item, found, args, args.out or FOLDER / _slug(item) / "figure"):
        print(f"written: {path}")
    print("".join(f"{note}\n" for note in _setting_notes(found)), end="")
    return 0


def _draw(item: Item, found: Sequence[Cell], args: argparse.Namespace, path: Path) -> list[Path]:
    from ..reproduction.curve import draw

    path.parent.mkdir(parents=True, exist_ok=True)
    sample = "" if args.sample is None else f" (a sample of {args.sample} pairs)"
    return draw(found, f"{item.full_name}{sample}", path, item.origin)


def _slug(item: Item) -> str:
    text = f"{item.document}-{item.name}".lower()
    return re.sub(r"[^a-z0-9.]+", "-", text).strip("-")
