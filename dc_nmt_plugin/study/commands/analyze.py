"""``dc-nmt analyze``: analyses trained models, as tables, JSON and figures."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import check_choices, printable
from ...laboratory.commands.parser import (
    Parser,
    add_json,
    add_plot,
    add_user_dir,
    number,
    print_json,
)
from ...laboratory.plot import new_figure, write_plot
from ...laboratory.raw_text.tokenizers import TOKENIZERS
from ...laboratory.table import format_table
from ..analysis import ANALYSES
from .analyze_options import OPTIONS

if TYPE_CHECKING:
    from ..analysis.report import Table
    from ..analysis.subject import RawReference


def main(argv: Sequence[str]) -> int:
    what, *words = argv or ["--help"]
    if what in ("-h", "--help"):
        print(overview(), file=sys.stdout if argv else sys.stderr)
        return 0 if argv else 2
    check_choices("WHAT", [what], ANALYSES)
    args, flags = _parse(what, words)
    analysis: Any = import_module(f"..analysis.{what.replace('-', '_')}", __package__)
    title = "{} ({})".format(*ANALYSES[what])
    facts: dict[str, Any] = {}
    if what == "curves":
        results = _measure_logs(analysis.measure, args)
    else:
        results, facts = _measure_models(analysis.measure, args, flags)
        title += f"; {facts['subset']}: {facts['sentences']:,} sentences"
    if what == "lengths":
        results = analysis.with_gains(results)
    if args.json:
        from ..analysis.report import as_facts

        print_json({"analysis": what, **facts, "runs": as_facts(results)})
    else:
        _print_tables(title, analysis.tables(results, **_options_of(analysis.tables, args)))
    if args.plot:
        figure = new_figure()
        analysis.draw(figure, results, **_options_of(analysis.draw, args))
        write_plot(figure, args.plot)
    return 0


def _options_of(function: Callable[..., Any], args: argparse.Namespace) -> dict[str, Any]:
    """Returns the options that a function of an analysis has as keyword arguments."""
    parameters = inspect.signature(function).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    return {name: getattr(args, name) for name in names}


def _print_tables(title: str, tables: Sequence[Table]) -> None:
    print(printable(title))
    for table in tables:
        print(f"\n{printable(table.title)}\n\n{format_table(table.header, table.rows)}")
        if table.notes:
            print("", *map(printable, table.notes), sep="\n")


def _measure_models(
    measure: Callable[..., Any], args: argparse.Namespace, flags: list[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns results of every run, and facts about the text."""
    from ...laboratory.inference.trained_run import find_runs
    from ..analysis.subject import Subject

    subset, source, reference = _text_of(args)
    name = subset or str(args.source or "--sentence")
    options = _options_of(measure, args)
    results = {}
    sentences = 1
    for run in find_runs(args.runs, args.data, args.names):
        subject = Subject(run, flags, subset, args.sentences)
        if source is not None:
            subject.use_raw(source, reference, args.tokenizer, args.sentences)
        elif reference is not None:
            subject.score_against(reference)
        results[run.label] = measure(subject, **options)
        sentences = len(subject.numbers) or 1
    if source is not None and reference is None:
        name += ", with the model's own translations"
    return results, {"subset": name, "sentences": sentences}


def _text_of(
    args: argparse.Namespace,
) -> tuple[str | None, list[str] | None, RawReference | None]:
    """Returns a subset of the data or the lines of --source, and the lines of --reference."""
    from ...text.lines import read_lines
    from ..analysis.subject import RawReference

    source = read_lines(args.source) if args.source else None
    needs_no_text = source is not None or getattr(args, "sentence", None) is not None
    subset = args.subset if needs_no_text else args.subset or "test"
    reference = None
    if args.reference:
        lines = read_lines(args.reference)
        reference = RawReference(lines, str(args.reference), args.tokenizer or "none")
    return subset, source, reference


def _measure_logs(measure: Callable[[Path], Any], args: argparse.Namespace) -> dict[str, Any]:
    from ...laboratory.inference.trained_run import run_names

    names = run_names(args.runs, args.names)
    return {name: measure(run) for name, run in zip(names, args.runs, strict=True)}


def overview() -> str:
    width = max(map(len, ANALYSES)) + 2
    lines = ["usage: dc-nmt analyze WHAT RUN [RUN …] [options]", "", "WHAT is one of"]
    for name, (title, source) in ANALYSES.items():
        lines += [f"  {name:<{width}}{title}", f"  {'':<{width}}  {source}"]
    lines += ["", "RUN is the folder of a run, or a checkpoint with --data."]
    lines += ["dc-nmt analyze WHAT --help lists the options of one analysis."]
    return "\n".join(lines)


def _parse(what: str, words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    of_model = what != "curves"
    epilog = "All other flags go to fairseq-generate: --cpu, --max-tokens, --beam, --lenpen …"
    parser = Parser(
        prog=f"dc-nmt analyze {what}",
        usage=f"dc-nmt analyze {what} RUN [RUN …] [options]",
        description="{} ({}).".format(*ANALYSES[what]),
        epilog=epilog if of_model else None,
    )
    add_runs(parser)
    if of_model:
        _add_text(parser)
    for option, settings in OPTIONS.get(what, {}).items():
        parser.add_argument(option, **settings)
    add_json(parser)
    add_plot(parser)
    return parser.parse_with_flags(words) if of_model else (parser.parse_args(words), [])


def add_runs(parser: argparse.ArgumentParser) -> None:
    add_user_dir(parser)
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="folder of a run, or a checkpoint"
    )
    parser.add_argument(
        "--names", nargs="+", metavar="NAME", help="names of the runs in tables and figures"
    )


def _add_text(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, help="folder made by fairseq-preprocess")
    add("--subset", help="subset of the data to use (default: test)")
    add(
        "--source",
        type=Path,
        metavar="FILE",
        help="raw text to use instead of a subset; it is prepared like the text of the run",
    )
    add(
        "--reference",
        type=Path,
        metavar="FILE",
        help="raw reference text. Scores are then of plain text. With --source, it is also the "
        "target side",
    )
    add(
        "--tokenizer",
        choices=TOKENIZERS,
        help="tokenizer of the text before BPE (default with --source: that of the run's text)",
    )
    add("--sentences", type=number(1), metavar="N", help="use N random sentences, always the same")
