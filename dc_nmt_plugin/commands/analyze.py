"""``dc-nmt analyze``: analyses trained models, as tables, JSON and figures."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analysis.names import ABOUT
from ..errors import UsageError, UserError, check_choices
from ..figure import new_figure
from ..table import format_table
from ..text.tokenizers import TOKENIZERS
from .parser import Parser, add_json, add_plot, print_json, write_plot

if TYPE_CHECKING:
    from ..analysis.base import Analysis, Report, Results
    from ..analysis.page import Section
    from ..analysis.subject import Subject

ALL = "all"


def main(argv: Sequence[str]) -> int:
    """Analyses, prints and draws."""
    if not argv:
        print(overview(), file=sys.stderr)
        return 2
    what = argv[0]
    if what in ("-h", "--help"):
        print(overview())
        raise SystemExit(0)
    check_choices("WHAT", [what], [*ABOUT, ALL])
    if what == ALL:
        return _all(argv[1:])

    from ..analysis.base import Analysis
    from ..analysis.registry import ANALYSES

    kind = ANALYSES[what]
    args, flags = _parse(kind, argv[1:])
    report = kind(args)
    timings: list[dict[str, Any]] = []
    if isinstance(report, Analysis):
        results, sentences = _measure(report, args, flags, timings)
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
        print_json({**facts, **({"timing": timings} if timings else {})})
    else:
        print(f"{kind.title} ({kind.source}){about}")
        for table in tables:
            print(f"\n{table.title}\n\n{format_table(table.header, table.rows)}")
            print("".join(f"\n{note}" for note in table.notes), end="\n" if table.notes else "")
        for seconds in timings:
            print(f"\n{timing_line(seconds)}")
    if figure is not None:
        write_plot(figure, args.plot)
    return 0


def _measure(
    analysis: Analysis, args: argparse.Namespace, flags: list[str], timings: list[dict[str, Any]]
) -> tuple[Results, int]:
    """Returns results of every run, and the number of sentences; with --timing also the times."""
    from ..analysis.base import Analysis, measure
    from ..analysis.subject import Subject, find

    if args.timing and type(analysis).collector is Analysis.collector:
        raise UsageError(f"--timing: {analysis.name} is not one forced decoding.")
    results: Results = {}
    sentences = 0
    for place in find(args.runs, args.data, args.names):
        subject = Subject(place, args.subset, args.sentences, flags)
        sentences = len(subject.translation.numbers)
        results[place.label] = measure(analysis, subject)
        if args.timing:
            timings.append(timing(analysis, subject))
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
    lines += [f"  {ALL:<{width}}every analysis that applies, on one page (--html FOLDER)", ""]
    lines += ["RUN is the folder of a run, or a checkpoint with --data."]
    return "\n".join([*lines, "dc-nmt analyze WHAT --help lists the options of one analysis."])


def timing(analysis: Analysis, subject: Subject) -> dict[str, Any]:
    """Returns the seconds of the forced decoding, with and without recording."""
    from ..analysis.loop import seconds_with_recording, seconds_without_recording

    plain = seconds_without_recording(subject, analysis.text)
    full = seconds_with_recording(
        subject, lambda: [c for c in [analysis.collector(subject)] if c], analysis.text
    )
    return {"run": subject.label, "forced": plain, "recorded": full, "ratio": full / plain}


def timing_line(seconds: dict[str, Any]) -> str:
    """Returns the ratio as text."""
    return (
        f"{seconds['run']}: forced decoding {seconds['forced']:.2f} s, recorded and reduced "
        f"{seconds['recorded']:.2f} s: {seconds['ratio']:.2f} times as long"
    )


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
        parser.add_argument(
            "--timing",
            action="store_true",
            help="compare the time with a forced decoding without recording",
        )
    kind.options(parser)
    add_json(parser)
    add_plot(parser)
    return parser.parse_with_flags(argv)


def _all(argv: Sequence[str]) -> int:
    """``dc-nmt analyze all``: one page."""
    parser = Parser(
        prog="dc-nmt analyze all",
        usage="dc-nmt analyze all RUN [RUN …] --html FOLDER [options] [flags of fairseq-generate]",
        description=("Writes every analysis that applies to the models to one page, with figures."),
    )
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="folder of a run, or a checkpoint"
    )
    parser.add_argument(
        "--html", type=Path, required=True, metavar="FOLDER", help="folder of the page"
    )
    parser.add_argument(
        "--names", nargs="+", metavar="NAME", help="names of the runs in tables and figures"
    )
    model_options(parser)
    parser.add_argument("--tags", type=Path, metavar="FILE", help="tags for parts-of-speech")
    parser.add_argument("--trees", type=Path, metavar="FILE", help="trees for trees")
    parser.add_argument(
        "--tokenizer", choices=TOKENIZERS, help="tokenizer for source-layers and lengths"
    )
    parser.add_argument(
        "--reference", nargs="+", type=Path, help="raw text for source-layers and lengths"
    )
    parser.add_argument(
        "--index", type=int, metavar="N", help="number of the sentence to show, from 1"
    )
    args, flags = parser.parse_with_flags(argv)

    from ..analysis.page import analyse_all, check_folder, write_page
    from ..analysis.subject import find

    check_folder(args.html)
    places = find(args.runs, args.data, args.names)
    sections = analyse_all(places, args, flags, _step)
    if not any(section.results for section in sections):
        raise UserError("all: no analysis applies to these runs.")
    sentences = f"{args.sentences:,}" if args.sentences else "all"
    about = f"{', '.join(place.label for place in places)}: {sentences} sentences of {args.subset}."
    runs = {place.label: str(run) for place, run in zip(places, args.runs, strict=True)}
    folders = {place.label: str(place.folder) for place in places}
    page = write_page(args.html, sections, about, partial(_command, args, runs, folders, flags))
    done = [section.report.name for section in sections if section.results]
    print(f"{page}: {', '.join(done)}")
    for section in sections:
        if not section.results:
            print(f"left out: {section.report.name}: {section.left_out[0]}")
    return 0


def _command(
    args: argparse.Namespace,
    runs: Mapping[str, str],
    folders: Mapping[str, str],
    flags: Sequence[str],
    section: Section,
) -> str:
    """Returns the command line of one section of ``dc-nmt analyze all``."""
    from ..analysis.base import Analysis

    report = section.report
    of_model = isinstance(report, Analysis)
    read = runs if of_model else folders  # the others read a run's log
    words = ["dc-nmt", "analyze", report.name, *(read[label] for label in section.results)]
    if args.names:
        words += ["--names", *section.results]
    given = ["tags", "trees", "reference", "tokenizer", "index"]
    names = [name for name in given if hasattr(report.args, name)]
    names += ["data", "subset", "sentences"] if of_model else []
    for name in names:
        value = getattr(args, name)
        if value is not None:
            values = value if isinstance(value, list) else [value]
            words += [f"--{name}", *map(str, values)]
    return shlex.join([*words, *(flags if of_model else ())])


def _step(label: str, step: str) -> None:
    if sys.stderr.isatty():
        print(f"{label}: {step}", file=sys.stderr, flush=True)
