"""``dc-nmt paper``: shows and reproduces the tables and figures of the papers."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..figure import FORMATS
from .paper_costs import of_jobs
from .paper_register import list_items, show_item
from .paper_table import FOLDER, draw_plot, has_numbers, progress_lines, show_table, slug
from .parser import Parser, add_forms, figure, number, print_json
from .recipe_options import add_text

if TYPE_CHECKING:
    from ..reproduction.jobs import Job


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt paper COMMAND …``."""
    args = parser().parse_args(argv)
    commands = {"list": list_items, "show": show_item, "run": _run,
                "table": show_table, "plot": draw_plot}  # fmt: skip
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
    from ..reproduction import execute
    from ..reproduction.jobs import Options
    from ..reproduction.plan import plan
    from ..reproduction.selection import left_out
    from ..steps import stoppable

    if args.sbatch and args.on != "slurm":
        raise UsageError("--sbatch: has an effect with --on slurm only; add that flag")
    sbatch = execute.sbatch_options(args.sbatch)
    item = find_item(args.item)
    folder = FOLDER / slug(item)
    text = ["--downloads", str(args.downloads)]
    text += ["--raw", str(args.raw)] if args.raw else []
    text += ["--any-counts"] if args.any_counts else []
    given = {"probing": args.probing, "parseval": args.trees}
    files = {name: str(path) for name, path in given.items() if path}
    options = Options(args.seeds, args.sample, args.max_update, tuple(text), args.any_counts, files)
    jobs = plan(item, args.rows, options, folder)
    for name, reason in left_out(item, args.rows, options).items():
        print(f"left out: {name}: needs {reason}", file=sys.stderr)
    if args.dry_run:
        return _print_jobs([(job, "") for job in jobs], args)
    if args.on != "local":
        cluster = args.on.removeprefix("submitit-")
        return _print_jobs(execute.submit(jobs, folder / "jobs", cluster, sbatch), args)
    with progress_lines(args):
        with stoppable():
            execute.run_here(jobs)
        print(f"\nanalyses and figures: {folder}\n" if any(j.output for j in jobs) else "")
    if has_numbers(item, args):
        return show_table(args)
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
