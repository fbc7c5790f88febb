"""``dc-nmt compare``: tests differences between systems, and finds where they differ."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from .parser import Parser, add_forms, add_plot, form_of, print_json, write_plot
from .plain_text import add_plain_text, plain_text_of

if TYPE_CHECKING:
    from ..evaluation.buckets import Bucket
    from ..evaluation.metrics import Metric
    from ..evaluation.significance import Comparison
    from ..evaluation.systems import System
    from ..evaluation.t_test import TTest
    from ..table import Form


@dataclass
class ComparisonReport:
    """Holds the results of ``dc-nmt compare``."""

    metric: str
    signature: str
    text: str
    notes: list[str]
    comparisons: list[Comparison]
    length_unit: str | None = None
    buckets: list[Bucket] = field(default_factory=list)
    t_tests: list[TTest] = field(default_factory=list)


def parser() -> Parser:
    """Returns the options of the command."""
    parser = Parser(
        prog="dc-nmt compare",
        description="Compare systems with a baseline: scores, differences with 95% interval and "
        "two-sided p (paired bootstrap), scores by source length.",
    )
    parser.add_argument(
        "systems", nargs="+", type=Path, metavar="BASELINE SYSTEM",
        help="run folders (RUN:NAME for a translation of dc-nmt evaluate --as NAME), records of "
        "dc-nmt score, output of fairseq-generate, or plain text of any toolkit; the first is the "
        "baseline",
    )  # fmt: skip
    parser.add_argument(
        "--names", nargs="+", metavar="NAME", help="labels; default: the names of runs and files"
    )
    parser.add_argument("--metric", help="default: the paper's of the first run, or 13a (zh: zh)")
    parser.add_argument("--reference", metavar="FILE", help="of plain text files: raw text")
    add_plain_text(parser)
    parser.add_argument("--buckets", metavar="LIST", help="lengths at which a new bucket begins")
    add_plot(parser, "draw the scores by length")
    parser.add_argument("--html", type=Path, metavar="FOLDER", help="compare-mt's report and test")
    parser.add_argument(
        "--t-test", action="store_true",
        help="one-tailed paired t-test over sentence BLEU (residual decoder, Table 3)",
    )  # fmt: skip
    add_forms(parser, "latex")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt compare``."""
    options = parser()
    args = options.parse_args(argv)
    if args.truecased and not args.tokenized:
        options.error("--truecased goes with --tokenized")
    if len(args.systems) < 2:
        raise UsageError(f"{args.systems[0]}: one system alone; give a baseline and another")
    from ..evaluation.buckets import EDGES, parse_edges
    from ..evaluation.metrics import find_metrics
    from ..evaluation.systems import default_metric, load_systems

    edges = parse_edges("--buckets", args.buckets) if args.buckets else EDGES
    metric = find_metrics("--metric", args.metric)[0] if args.metric else None
    systems = load_systems(args.systems, plain_text_of(args, args.reference), args.names)
    for warning in dict.fromkeys(w for system in systems for w in system.texts.warnings):
        print(f"warning: {warning}", file=sys.stderr)
    report = compare(systems, metric or default_metric(systems[0]), edges, args)
    if args.json:
        print_json(asdict(report))
    else:
        print(format_report(report, form_of(args)))
    if args.html:
        print(f"written: {args.html / 'index.html'}", file=sys.stderr)
    return 0


def compare(
    systems: Sequence[System], metric: Metric, edges: Sequence[int], args: argparse.Namespace
) -> ComparisonReport:
    """Tests, scores by length, and writes the requested files."""
    from ..evaluation import comparemt, t_test
    from ..evaluation.difference_text import comparison_notes
    from ..evaluation.significance import paired_bootstrap
    from ..evaluation.systems import sides_of

    sides = sides_of(systems, metric)
    texts = {label: side.hypotheses for label, side in sides.items()}
    first, language = sides[systems[0].label], systems[0].target_lang
    references = first.references
    # before the bootstrap, which takes minutes
    if args.html:
        comparemt.check_report(args.html, len(systems), metric)
    if args.t_test:
        t_test.check_t_test(metric, len(references))
    _, signature = metric.score(first.hypotheses, references, language)
    unit, buckets = _buckets(systems, texts, metric, edges, args)
    _progress(f"paired bootstrap of {len(texts)} systems, {len(references):,} sentences")
    comparisons = paired_bootstrap(texts, references, language, metric)
    notes = comparison_notes(comparisons, metric.name)
    report = ComparisonReport(metric.name, signature, first.origin, notes, comparisons)
    if buckets:
        report.length_unit, report.buckets = unit, buckets
    if args.html:
        tokenize = metric.make(language).tokenizer
        words = {
            name: [tokenize(line) for line in metric.prepared(lines)]
            for name, lines in texts.items()
        }
        reference = [tokenize(line) for line in metric.prepared(references)]
        source = next((system.source for system in systems if system.source), None)
        _progress("compare-mt's report")
        comparemt.write_report(args.html, words, reference, source, metric.lowercase)
    if args.t_test:
        report.t_tests = t_test.t_tests(texts, references, language, metric)
    if args.plot:
        from ..evaluation.buckets import draw_buckets
        from ..figure import new_figure

        figure = new_figure()
        draw_buckets(figure, buckets, metric.name, unit)
        write_plot(figure, args.plot)
    return report


def _buckets(
    systems: Sequence[System],
    texts: Mapping[str, Sequence[str]],
    metric: Metric,
    edges: Sequence[int],
    args: argparse.Namespace,
) -> tuple[str, list[Bucket]]:
    """Returns the unit of lengths, and the scores by length; none without a source."""
    from ..evaluation.buckets import score_buckets, source_lengths
    from ..evaluation.text_checks import UNSPACED

    source = next((system.source for system in systems if system.source), None)
    if source is None:
        if args.plot or args.buckets:
            raise UsageError("--source: is missing; scores by source length need it")
        return "", []
    source_lang = args.source_lang
    for system in systems:
        if source_lang is None and system.run:
            source_lang = system.run.record.data.source
    unit = "characters" if source_lang in UNSPACED else "words"
    lengths = source_lengths(source, source_lang)
    references, language = systems[0].texts.sides(metric).references, systems[0].target_lang
    return unit, score_buckets(texts, references, lengths, edges, metric, language)


def _progress(step: str) -> None:
    print(f"dc-nmt compare: {step}", file=sys.stderr, flush=True)


def format_report(report: ComparisonReport, form: Form) -> str:
    """Returns the tables of scores, lengths and the papers' tests, each with its note."""
    from ..evaluation.buckets import NO_GROUP_SCORE, bucket_table
    from ..evaluation.difference_text import comparison_table

    parts = [
        form.write(*comparison_table(report.comparisons, report.metric)),
        form.lines((report.signature, report.text, *report.notes)),
    ]
    if report.buckets:
        parts.append(form.write(*bucket_table(report.buckets, report.length_unit or "")))
        if any(None in bucket.scores.values() for bucket in report.buckets):
            parts.append(form.lines([NO_GROUP_SCORE]))
    if report.t_tests:
        tests = [(t.name, f"{t.t:.2f}", f"{t.p_value:.4f}") for t in report.t_tests]
        parts.append(form.write(("one-tailed paired t-test", "t", "p"), tests))
        parts.append(form.lines(["over sentence BLEU, add-one smoothed from bigrams on"]))
    return "\n\n".join(parts)
