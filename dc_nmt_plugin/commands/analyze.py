"""``dc-nmt analyze``: analyses trained models, as tables, JSON and figures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analysis.names import ABOUT
from ..errors import UsageError, check_choices
from ..figure import new_figure
from ..table import format_table
from .parser import Parser, add_json, add_plot, print_json, write_plot

if TYPE_CHECKING:
    from ..analysis.base import Analysis, Report, Results


def main(argv: Sequence[str]) -> int:
    """Analyses, prints and draws."""
    if not argv:
        print(overview(), file=sys.stderr)
        return 2
    what = argv[0]
    if what in ("-h", "--help"):
        print(overview())
        raise SystemExit(0)
    check_choices("WHAT", [what], ABOUT)

    from ..analysis.base import Analysis
    from ..analysis.registry import ANALYSES

    kind = ANALYSES[what]
    args, flags = _parse(kind, argv[1:])
    report = kind(args)
    if isinstance(report, Analysis):
        results, sentences = _measure(report, args, flags)
        about = f"; {args.subset}: {sentences:,} sentences"
        facts = {"subset": args.subset, "sentences": sentences}
    else:
        results, facts = _curves(report, args, flags)
        about = ""
    tables = report.tables(results)  # refuses a wrong option before writing
    figure = new_figure() if args.plot else None
    if figure is not None:
        report.draw(figure, results)
    if args.json:
        facts = {"analysis": what, **facts, "runs": results}
        print_json(facts)
    else:
        print(f"{kind.title} ({kind.source}){about}")
        for table in tables:
            print(f"\n{table.title}\n\n{format_table(table.header, table.rows)}")
            print("".join(f"\n{note}" for note in table.notes), end="\n" if table.notes else "")
    if figure is not None:
        write_plot(figure, args.plot)
    return 0


def _measure(analysis: Analysis, args: argparse.Namespace, flags: list[str]) -> tuple[Results, int]:
    """Returns results of every run, and the number of sentences."""
    from ..analysis.base import measure
    from ..analysis.subject import Subject, find

    results: Results = {}
    sentences = 0
    for place in find(args.runs, args.data, args.names):
        subject = Subject(place, args.subset, args.sentences, flags)
        sentences = len(subject.translation.numbers)
        results[place.label] = measure(analysis, subject)
    return results, sentences


def _curves(
    report: Report, args: argparse.Namespace, flags: list[str]
) -> tuple[Results, dict[str, Any]]:
    """Returns the curves of every run, and the values of --at, for JSON."""
    from ..analysis.curves import Curves
    from ..analysis.subject import labels

    if flags:
        raise UsageError(f"{flags[0]}: {report.name} has no such option.")
    assert isinstance(report, Curves)
    names = labels(args.runs, args.names)
    results = {name: report.measure(run) for name, run in zip(names, args.runs, strict=True)}
    return results, {"at": report.values_at(results)} if args.at else {}


def overview() -> str:
    """Returns the text of ``dc-nmt analyze --help``."""
    width = max(map(len, ABOUT)) + 2
    lines = ["usage: dc-nmt analyze WHAT RUN [RUN …] [options]", "", "WHAT is one of"]
    for name, (title, source) in ABOUT.items():
        lines += [f"  {name:<{width}}{title}", f"  {'':<{width}}  {source}"]
    lines += ["", "RUN is the folder of a run, or a checkpoint with --data."]
    return "\n".join([*lines, "dc-nmt analyze WHAT --help lists the options of one analysis."])


def model_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of commands that load models."""
    parser.add_argument("--data", type=Path, help="folder made by fairseq-preprocess")
    parser.add_argument("--subset", default="test", help="subset of the data (default: test)")
    parser.add_argument(
        "--sentences",
        type=int,
        metavar="N",
        help="use N random sentences, the same every time",
    )


def _parse(kind: type[Report], argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    from ..analysis.base import Analysis

    of_model = issubclass(kind, Analysis)
    parser = Parser(
        prog=f"dc-nmt analyze {kind.name}",
        usage=f"dc-nmt analyze {kind.name} RUN [RUN …] [options]"
        + (" [flags of fairseq-generate]" if of_model else ""),
        description=f"{kind.title} ({kind.source}).",
        epilog=("All other flags go to fairseq-generate: --cpu, --max-tokens, --beam, --lenpen …")
        if of_model
        else None,
    )
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="folder of a run, or a checkpoint"
    )
    parser.add_argument(
        "--names", nargs="+", metavar="NAME", help="names of the runs in tables and figures"
    )
    if of_model:
        model_options(parser)
    kind.options(parser)
    add_json(parser)
    add_plot(parser)
    return parser.parse_with_flags(argv)
