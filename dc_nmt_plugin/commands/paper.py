"""``dc-nmt paper``: shows and reproduces the tables and figures of the papers."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import UsageError, check_choices
from . import paper_print
from .parser import Parser, add_forms, add_json, add_plot, add_text, number


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt paper COMMAND …``."""
    words = sys.argv[2:] if argv is None else list(argv)
    if words[:1] == ["parameters"]:  # the only one that takes flags of a model
        return _parameters(words[1:])
    args = _parser().parse_args(words)
    commands = {
        "list": paper_print.list_items,
        "show": paper_print.show_item,
        "run": _run,
        "table": paper_print.show_table,
    }
    return commands[args.command](args)


def _parser() -> Parser:
    parser = Parser(prog="dc-nmt paper", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listed = commands.add_parser("list", help="list tables and figures, and which are reproducible")
    listed.add_argument("document", nargs="?", help="one of the five documents; default: all")
    show = commands.add_parser("show", help="print an item as published")
    run = commands.add_parser("run", help="run the missing steps of an item, then print its table")
    table = commands.add_parser("table", help="print measured beside published numbers")
    commands.add_parser("parameters", help="print parameter counts beside the published ones")
    for command in (show, run, table):
        command.add_argument("item", metavar="ITEM", help="such as 'thesis, Table 3.4'")
    for command in (run, table):
        command.add_argument(
            "--rows", type=_names, default=(), metavar="NAMES",
            help="only these rows or columns, separated by semicolons",
        )  # fmt: skip
        command.add_argument(
            "--seeds", type=_numbers, default=(1,), metavar="LIST", help="random seeds; default: 1"
        )
    for command in (show, table):
        add_forms(command, "markdown", "latex")
    add_plot(table, "draw the curves of an item whose rows are values of a setting")
    run.set_defaults(json=False, markdown=False, latex=False)
    run.add_argument("--max-update", type=number(1), metavar="N", help="number of updates")
    run.add_argument("--dry-run", action="store_true", help="print the commands alone")
    run.add_argument(
        "--probing", type=_existing, metavar="DIR",
        help="folder data/probing of SentEval, for the probing tasks",
    )  # fmt: skip
    run.add_argument(
        "--trees", type=_existing, metavar="FILE",
        help="bracketed trees of the references, one a line, for ParsEval",
    )  # fmt: skip
    add_text(run)
    return parser


def _existing(text: str) -> Path:
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
    from ..papers.plan import Options, plan, run_jobs
    from ..papers.reader import find_item
    from ..papers.selection import left_out
    from ..papers.systems import size_of
    from ..steps import stoppable

    item = find_item(args.item)
    folder = paper_print.folder_of(item)
    text = ["--downloads", str(args.downloads)]
    text += ["--raw", str(args.raw)] if args.raw else []
    text += ["--any-counts"] if args.any_counts else []
    options = Options(
        seeds=args.seeds,
        max_update=args.max_update,
        text=tuple(text),
        any_counts=args.any_counts,
        probing=args.probing,
        trees=args.trees,
    )
    jobs = plan(item, args.rows, options, folder)
    for name, reason in left_out(item, args.rows, options.flags).items():
        print(f"left out: {name}: {reason}", file=sys.stderr)
    if args.dry_run:
        print(*jobs, sep="\n")
        runs = [job.training for job in jobs if job.training]
        if runs:
            print(f"# {size_of(runs, args.max_update)}")
        return 0
    with stoppable():
        run_jobs(jobs)
    if any(job.output for job in jobs):
        print(f"\nanalyses and figures: {folder}\n")
    args.plot = None
    if item.name.startswith("Figure"):
        folder.mkdir(parents=True, exist_ok=True)
        args.plot = folder / "figure"
    return paper_print.show_table(args)


def _parameters(argv: Sequence[str]) -> int:
    """``dc-nmt paper parameters``; exit status 1 for a count that differs from the published."""
    parser = Parser(
        prog="dc-nmt paper parameters",
        usage="dc-nmt paper parameters [ARCH ...] [options] [flags of the model]",
        description="Prints parameter counts of models beside the published numbers.",
        epilog="All other flags go to the model of every ARCH, such as --source-layers 3.",
    )
    parser.add_argument("arch", nargs="*", help="default: all, with the published counts")
    parser.add_argument(
        "--vocabulary", type=number(1), default=32_000, help="number of types in the dictionary"
    )
    parser.add_argument("--item", help="count one table alone, such as 'thesis, Table 3.2'")
    add_json(parser)
    args, words = parser.parse_with_flags(argv)
    if args.item and args.arch:
        raise UsageError("--item: prints the counts of a table; leave out ARCH")
    if words and not args.arch:
        raise UsageError(f"{words[0]}: flags of a model need an ARCH before them")

    from ..models.presets import architectures
    from ..papers.parameters import model_settings, preset_row, published_items, published_rows
    from ..papers.reader import find_item

    check_choices("architecture", args.arch, architectures(), "dc-nmt arch-flags")
    tables = {} if args.arch else dict(published_items())
    if args.item:
        name = find_item(args.item).full_name
        if name not in tables:
            raise UsageError(f"--item: {name} has no parameter counts; {', '.join(tables)} have")
        return paper_print.print_counts(published_rows(name, tables[name]), args.json)
    rows = [row for name, entries in tables.items() for row in published_rows(name, entries)]
    for name in args.arch or architectures():
        rows.append(preset_row(name, model_settings(name, words), args.vocabulary))
    return paper_print.print_counts(rows, args.json)
