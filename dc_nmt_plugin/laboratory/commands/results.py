"""``dc-nmt results``: finished runs in one table, beside what is published."""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import MissingText, UsageError, UserError, check_choices, did_you_mean, notify
from ...files import write_json
from ...flags import flag_name
from ...runs.record import RECORD
from .. import STUDY, has_study
from ..finding import Run, is_run
from .page import add_page, make_page
from .parser import Parser, add_forms, add_plot, form_of, print_columns, print_json

if TYPE_CHECKING:
    from ..evaluation.rows import Results, ResultTable

STORED = "results.json"


def parser() -> Parser:
    parser = Parser(
        prog="dc-nmt results",
        description="Finished runs in one table: parameters, speed, score, difference to the "
        "baseline and its significance, and the published numbers.",
    )
    parser.add_argument(
        "folders",
        nargs="+",
        type=Path,
        metavar="FOLDER",
        help="runs, folders of runs, records of dc-nmt score, or examples/TASK, whose "
        f"{STORED} is printed",
    )
    parser.add_argument("--baseline", metavar="LABEL", help="default: the first plain Transformer")
    parser.add_argument(
        "--subset",
        default="test",
        metavar="SET",
        help="runs as they translated it: test (the default), valid, or a further test set",
    )
    parser.add_argument("--metric", help="default: the paper's, or 13a (zh: zh)")
    parser.add_argument(
        "--over-seeds",
        action="store_true",
        help="one row for runs that differ in the seed alone: mean and standard deviation. "
        "The difference is over the seeds that the baseline also has, with interval and p over "
        "sentences and seeds",
    )
    parser.add_argument(
        "--finished",
        action="store_true",
        help="leave out folders where no run is finished yet, such as those of a grid",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="store the numbers, no text")
    add_plot(parser)
    add_page(parser)
    add_forms(parser, "markdown", "latex")
    return parser


def main(argv: Sequence[str]) -> int:
    options = parser()
    args = options.parse_args(argv)
    from ..evaluation.rows import Results
    from ..evaluation.table_text import RESULT_COLUMNS, format_results, result_columns, result_notes

    check_choices("--columns", args.columns or (), RESULT_COLUMNS)
    table = _stored_table(options, args)
    results = Results(table) if table else _collect(args)
    table = results.table
    if args.out:
        write_json(args.out, asdict(table))
    if args.json and args.columns:
        print_columns(result_columns(table), args.columns)
    elif args.json:
        print_json(asdict(table))
    else:
        print(format_results(table, form_of(args), args.columns))
    if args.plot:
        from ..evaluation.table_figure import plot_results

        plot_results(table, args.plot)
    if args.page:
        runs = results.runs or _runs_beside(args.folders[0], table)
        make_page(args, table, result_notes(table), runs, results.systems)
    return 0


def _runs_beside(stored: Path, table: ResultTable) -> dict[str, list[Run]]:
    """Returns label → runs of a stored table, as far as they lie in its folder."""
    home = stored if stored.is_dir() else stored.parent
    records = sorted([*home.glob(f"*/{RECORD}"), *home.glob(f"runs/*/{RECORD}")])
    kept = {run.record.name: run for record in records for run in Run.all_of(record)[:1]}
    return {
        row.system.label: [kept[origin.name] for origin in row.runs if origin.name in kept]
        for row in table.rows
    }


def _stored_table(options: Parser, args: argparse.Namespace) -> ResultTable | None:
    """Returns the table that the only folder holds.

    None where a run beside it is not in the table, or an option asks for another table.

    Raises:
        UserError: an option asks for another table, and there are no runs to make it of
    """
    from ..evaluation.rows import ResultTable

    folder = args.folders[0]
    stored = folder / STORED
    if folder.name == STORED:
        folder, stored = folder.parent, folder
    if len(args.folders) > 1 or not stored.is_file():
        return None
    table = ResultTable.read(stored)
    in_table = {Path(row.system.run).name for row in table.rows}
    for record in folder.glob(f"*/{RECORD}"):
        name = record.parent.name  # a row over seeds has the name of the system
        if in_table.isdisjoint((name, re.sub(r"-s\d+$", "", name))):
            return None
    for name in ("baseline", "subset", "metric", "over_seeds", "out"):
        if getattr(args, name) != options.get_default(name):
            if stored == args.folders[0] or not any(folder.glob(f"*/{RECORD}")):
                raise UsageError(
                    f"{stored}: is a stored table; for {flag_name(name)} name the folders of the "
                    "runs"
                )
            return None
    notify(f"{stored} is printed as it was stored; name the runs to compare them")
    return table


def _find_published() -> dict[str, Any]:
    """Returns the function that finds published numbers, for ``collect``; nothing without it."""
    if not has_study():
        return {}
    module = importlib.import_module(f"{STUDY}.papers.published")
    return {"find_published": module.published_score}


def _collect(args: argparse.Namespace) -> Results:
    """Returns a new table of the finished runs."""
    from ..evaluation.collecting import collect
    from ..evaluation.metrics import find_metrics

    make = partial(
        collect,
        _chosen_runs(args),
        baseline=args.baseline,
        metric=find_metrics("--metric", args.metric)[0] if args.metric else None,
        over_seeds=args.over_seeds,
        **_find_published(),
    )
    try:
        return make()
    except MissingText as error:
        if not args.page:
            raise
        notify(f"the page is without text and tests: {error}")
        return make(with_text=False)


def _chosen_runs(args: argparse.Namespace) -> list[Run]:
    """Returns the runs that translated the set; names those that are not finished."""
    finished = []
    for folder in args.folders:
        try:
            runs, unfinished = _scored_runs(folder)
        except UserError:
            if not args.finished:
                raise
            runs, unfinished = [], [folder]
        finished += runs
        for path in unfinished:
            notify(f"not finished, left out: {path}")
    if not finished:
        raise UserError("--finished: no run is finished yet")
    runs = [run for run in finished if run.decoding.subset == args.subset]
    if not runs:
        subsets = ", ".join(sorted({run.decoding.subset for run in finished}))
        raise UsageError(f"--subset {args.subset}: no run has it; there is {subsets}")
    return runs


def _scored_runs(path: Path) -> tuple[list[Run], list[Path]]:
    """Finds the scored translations of a run or a folder of runs, and the runs without any.

    Raises:
        UserError: the path is neither, or nothing is finished
    """
    if not is_run(path):
        names = [folder.name for folder in path.parent.glob("*/")]
        raise UserError(f"{path}: no such run or folder of runs.{did_you_mean(path.name, names)}")
    if not path.is_dir() or (path / RECORD).is_file():
        first = Run.read(path)
        return Run.all_of(path) if path.exists() else [first], []  # all, or RUN:NAME
    found = {record.parent: Run.all_of(record) for record in sorted(path.glob(f"*/{RECORD}"))}
    if not any(found.values()):
        raise UserError(f"{path}: no finished run in it (FOLDER/{RECORD}, with scores)")
    unfinished = [folder for folder, runs in found.items() if not runs]
    return list(chain(*found.values())), unfinished
