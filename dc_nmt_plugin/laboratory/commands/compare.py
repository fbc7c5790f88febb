"""``dc-nmt compare``: tests differences between systems."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import check_choices, counted, notify
from ...files import making, write_lines
from .page import add_page, make_page
from .parser import (
    Parser,
    add_forms,
    add_plain_text,
    add_plot,
    form_of,
    print_columns,
    print_json,
    values_of,
)

if TYPE_CHECKING:
    from ..evaluation.metrics import Metric
    from ..evaluation.rows import ResultTable
    from ..evaluation.significance import Comparison, TTest
    from ..evaluation.systems import ComparedSystem
    from ..table import Form, NamedColumns


@dataclass
class ComparisonReport:
    metric: str
    signature: str
    text: str
    notes: list[str]
    comparisons: list[Comparison]
    t_tests: list[TTest] = field(default_factory=list)


def parser() -> Parser:
    parser = Parser(
        prog="dc-nmt compare",
        description="Compare systems with a baseline: scores, differences with 95% interval and "
        "two-sided p (paired bootstrap).",
    )
    parser.add_argument(
        "systems",
        nargs="+",
        type=Path,
        metavar="BASELINE SYSTEM",
        help="run folders (RUN:NAME for a translation of dc-nmt evaluate --as NAME), records of "
        "dc-nmt score, output of fairseq-generate, or plain text of any toolkit; the first is the "
        "baseline",
    )
    parser.add_argument(
        "--names", nargs="+", metavar="NAME", help="labels; default: the names of runs and files"
    )
    parser.add_argument("--metric", help="default: the paper's of the first run, or 13a (zh: zh)")
    parser.add_argument("--reference", metavar="FILE", help="of plain text files: raw text")
    add_plain_text(parser)
    parser.add_argument(
        "--texts",
        type=Path,
        metavar="DIR",
        help="write what is compared into a new folder, in words, and print the command of "
        "compare-mt, which makes a page about n-grams, words and sentences",
    )
    parser.add_argument(
        "--t-test",
        action="store_true",
        help="one-tailed paired t-test over sentence BLEU (residual decoder, Table 3)",
    )
    add_plot(parser)
    add_page(parser)
    add_forms(parser, "markdown", "latex")
    return parser


def main(argv: Sequence[str]) -> int:
    args = parser().parse_args(argv)
    from ..evaluation.metrics import find_metrics
    from ..evaluation.systems import PlainTextOptions, default_metric, load_systems
    from ..evaluation.table_text import COMPARISON_COLUMNS, comparison_table

    check_choices("--columns", args.columns or (), COMPARISON_COLUMNS)
    metric = find_metrics("--metric", args.metric)[0] if args.metric else None
    systems = load_systems(args.systems, values_of(PlainTextOptions, args), args.names)
    for warning in dict.fromkeys(w for system in systems for w in system.texts.warnings):
        notify(f"warning: {warning}")
    report = compare(systems, metric or default_metric(systems[0]), args)
    columns = comparison_table(report.comparisons, report.metric)
    if args.json and args.columns:
        print_columns(columns, args.columns)
    elif args.json:
        print_json(asdict(report))
    else:
        print(format_report(report, columns, form_of(args), args.columns))
    if args.plot or args.page:
        _draw(args, report, systems)
    return 0


def _draw(
    args: argparse.Namespace, report: ComparisonReport, systems: Sequence[ComparedSystem]
) -> None:
    """Writes the figure and the page that the options ask for."""
    from ..evaluation.table_figure import plot_results

    table = _result_table(report, systems)
    if args.plot:
        plot_results(table, args.plot)
    if args.page:
        notes = [f"{report.metric}: {report.signature}", report.text, *report.notes]
        runs = {system.label: [system.run] for system in systems if system.run}
        make_page(args, table, notes, runs, systems)


def compare(
    systems: Sequence[ComparedSystem], metric: Metric, args: argparse.Namespace
) -> ComparisonReport:
    """Tests the systems, and writes the requested texts."""
    from ..evaluation.significance import t_tests
    from ..evaluation.systems import metric_words, score_and_test, sides_of
    from ..evaluation.table_text import difference_notes

    sides = sides_of(systems, metric)
    texts = {label: side.hypotheses for label, side in sides.items()}
    first, language = sides[systems[0].label], systems[0].target_lang
    references = first.references
    # before the bootstrap, which takes minutes
    if args.texts:
        words = {"reference": references, **texts}
        if metric.is_bleu:
            words = {name: metric_words(lines, metric, language) for name, lines in words.items()}
        _write_texts(args.texts, words, metric.lowercase)
    tests = t_tests(texts, references, language, metric) if args.t_test else []
    steps = f"paired bootstrap of {len(texts)} systems, {counted(len(references), 'sentence')}"
    notify(f"dc-nmt compare: {steps}")
    signature, tested = score_and_test({system.label: {"": system} for system in systems}, metric)
    notes = []
    for label, side in sides.items():
        if side.processing != first.processing:
            notes.append(f"{label}: {side.processing}")
    baseline, *others = tested
    notes += difference_notes({c.name: c.against for c in others}, baseline.name, metric.name)
    comparisons = []
    for system, comparison in zip(systems, tested, strict=True):
        more, has_stars = _checked(system, systems[0], metric)
        notes += more
        comparisons.append(comparison if has_stars else replace(comparison, corrected_p=None))
    return ComparisonReport(metric.name, signature, first.processing, notes, comparisons, tests)


def _checked(
    system: ComparedSystem, baseline: ComparedSystem, metric: Metric
) -> tuple[list[str], bool]:
    """Returns notes on a system beside the baseline, and whether their difference has stars.

    Raises:
        UserError: the record of its run has another score
    """
    from ..evaluation.conditions import all_differences, is_other_seed
    from ..evaluation.evidence import scored_again
    from ..evaluation.table_text import other_seed_note, repeated_note, settings_note

    notes = repeated_note(system.label, system.texts.repeated)
    run, of_baseline = system.run, baseline.run
    if run is None:
        return notes, True
    scored_again(system, metric.name)
    if of_baseline is None:
        return notes, True
    if is_other_seed(run, of_baseline):
        return [*notes, other_seed_note(system.label)], False
    differences = all_differences(run, of_baseline)
    return notes + ([settings_note([system.label], differences)] if differences else []), True


def _result_table(report: ComparisonReport, systems: Sequence[ComparedSystem]) -> ResultTable:
    """Returns the comparisons as a table of results, which has the facts of runs, too."""
    from ..evaluation.collecting import facts_of
    from ..evaluation.rows import BaselineTest, MeasuredScore, ResultRow, ResultTable, SystemFacts

    rows = []
    for system, comparison in zip(systems, report.comparisons, strict=True):
        facts = SystemFacts(label=system.label, run=system.label)
        if system.run:
            facts = facts_of(system.label, [system.run], systems[0].run or system.run)
        test = BaselineTest(
            difference=comparison.difference,
            against=comparison.against,
            corrected_p=comparison.corrected_p,
        )
        score = MeasuredScore(value=comparison.score)
        rows.append(ResultRow(system=facts, score=score, test=test))
    sentences = len(systems[0].texts.raw.references)
    return ResultTable(report.metric, {report.metric: report.signature}, sentences, rows)


def _write_texts(folder: Path, texts: Mapping[str, Sequence[str]], lowercase: bool) -> None:
    """Writes texts, of which the first is the reference, and prints compare-mt's command.

    Raises:
        UserError: the folder has files
    """
    files = []
    with making(folder) as part:
        for number, lines in enumerate(texts.values()):
            name = f"system{number}" if number else "reference"
            files.append(str(folder / name))
            write_lines(part / name, list(lines))
    command = ["compare-mt", *files, "--sys_names", *list(texts)[1:]]
    command += ["--compare_scores", f"score_type=bleu,bootstrap=1000,case_insensitive={lowercase}"]
    command += ["--output_directory", str(folder / "report")]
    notify(f"dc-nmt compare: {shlex.join(command)}")


def format_report(
    report: ComparisonReport, columns: NamedColumns, form: Form, names: Sequence[str] | None
) -> str:
    """Returns the tables of scores and tests, each with its notes."""
    parts = [
        columns.written(form, names),
        form.lines((report.signature, report.text, *report.notes)),
    ]
    if report.t_tests:
        tests = [(t.name, f"{t.t:.2f}", f"{t.p_value:.4f}") for t in report.t_tests]
        parts.append(form.write(("one-tailed paired t-test", "t", "p"), tests))
        parts.append(form.lines(["over sentence BLEU, add-one smoothed from bigrams on"]))
    return "\n\n".join(parts)
