"""``dc-nmt analyze``: analyses trained models, as tables, JSON and figures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analysis import ANALYSES
from ..analysis.figure import add_plot, new_figure, write_plot
from ..analysis.options import add_options
from ..errors import UsageError, check_choices, counted
from ..table import format_table
from ..text.tokenizers import TOKENIZERS
from .parser import Parser, add_json, number, print_json

if TYPE_CHECKING:
    from ..analysis.report import Results
    from ..inference.subject import Subject


def main(argv: Sequence[str]) -> int:
    what, *words = argv or ["--help"]
    if what in ("-h", "--help"):
        print(overview(), file=sys.stdout if argv else sys.stderr)
        return 0 if argv else 2
    check_choices("WHAT", [what], ANALYSES)
    args, flags = _parse(what, words)
    analysis: Any = import_module(f"..analysis.{what.replace('-', '_')}", __package__)
    title = "{} ({})".format(*ANALYSES[what])
    results: Results
    facts: dict[str, Any] = {}
    if what == "curves":
        results = _measure_logs(analysis, args, flags)
    else:
        results, facts = _measure_models(analysis, args, flags)
        title += f"; {facts['subset']}: {facts['sentences']:,} sentences"
    tables = analysis.tables(results, args)  # refuses a wrong option before writing
    figure = new_figure() if args.plot else None
    if figure is not None:
        analysis.draw(figure, results, args)
    if args.json:
        shown = {
            label: {name: value for name, value in result.items() if name[0] != "_"}
            for label, result in results.items()
        }
        print_json({"analysis": what, **facts, "runs": shown})
    else:
        print(title)
        for table in tables:
            print(f"\n{table.title}\n\n{format_table(table.header, table.rows)}")
            if table.notes:
                print("", *table.notes, sep="\n")
    if figure is not None:
        write_plot(figure, args.plot)
    return 0


def _measure_models(
    analysis: Any, args: argparse.Namespace, flags: list[str]
) -> tuple[Results, dict[str, Any]]:
    """Returns results of every run, and facts about the text."""
    from ..inference.subject import Subject
    from ..inference.trained_run import find_runs

    if args.source and args.subset:
        raise UsageError("--source: is used instead of --subset; give one of them.")
    subset = args.subset
    if not args.source and getattr(args, "sentence", None) is None:
        subset = args.subset or "test"  # a sentence of the command line needs no text
    results: Results = {}
    sentences = 1
    for run in find_runs(args.runs, args.data, args.names):
        subject = Subject(run, flags, subset, args.sentences)
        if args.source:
            _use_own_text(subject, args)
        results[run.label] = analysis.measure(subject, args)
        sentences = len(subject.numbers) or 1
    return results, {"subset": subset or str(args.source or "--sentence"), "sentences": sentences}


def _use_own_text(subject: Subject, args: argparse.Namespace) -> None:
    """Prepares the raw text of --source and --reference like the text of the run."""
    from ..inference.run_text import text_of
    from ..text.lines import read_lines

    source, target = subject.source_lang, subject.target_lang
    lines = read_lines(args.source)
    text = text_of(subject.run, source, target, args.tokenizer)
    target_pieces = None
    if args.reference:
        reference = read_lines(args.reference)
        if len(reference) != len(lines):
            raise UsageError(
                f"--reference {args.reference}: {counted(len(reference), 'line')} for the "
                f"{len(lines):,} of {args.source}."
            )
        target_pieces = text_of(subject.run, target, source, args.tokenizer).pieces(reference)
        args.tokenizer, args.truecased = text.tokenizer, text.truecased  # to be undone for scores
    subject.use(subject.encoded(text.pieces(lines), target_pieces), args.sentences)


def _measure_logs(curves: Any, args: argparse.Namespace, flags: list[str]) -> Results:
    from ..inference.trained_run import labels

    if flags:
        raise UsageError(f"{flags[0]}: curves has no such option.")
    names = labels(args.runs, args.names)
    return {name: curves.measure(run) for name, run in zip(names, args.runs, strict=True)}


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
    add_options(parser, what)
    add_json(parser)
    add_plot(parser)
    return parser.parse_with_flags(words)


def add_runs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="folder of a run, or a checkpoint"
    )
    parser.add_argument(
        "--names", nargs="+", metavar="NAME", help="names of the runs in tables and figures"
    )


def _add_text(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(truecased=False)
    add = parser.add_argument
    # fmt: off
    add("--data", type=Path, help="folder made by fairseq-preprocess")
    add("--subset", help="subset of the data to use (default: test)")
    add("--source", type=Path, metavar="FILE",
        help="raw text to use instead of a subset; it is prepared like the text of the run")
    add("--reference", type=Path, metavar="FILE",
        help="raw reference text. Scores are then of plain text. With --source, it is also the "
        "target side")
    add("--tokenizer", choices=TOKENIZERS,
        help="tokenizer of the text before BPE (default with --source: that of the run's text)")
    add("--sentences", type=number(1), metavar="N", help="use N random sentences, always the same")
    # fmt: on
