"""``dc-nmt compare``: tests differences between systems, and finds where they differ."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from ..errors import UsageError, UserError
from ..evaluation.buckets import (
    EDGES,
    NO_GROUP_SCORE,
    Bucket,
    bucket_table,
    draw_buckets,
    parse_edges,
    score_buckets,
    source_lengths,
)
from ..evaluation.chance import RESAMPLES
from ..evaluation.comparemt import RESAMPLES as COMPARE_MT_RESAMPLES
from ..evaluation.comparemt import (
    SEED,
    HalfSizeTest,
    check_installed,
    check_report,
    write_report,
)
from ..evaluation.comparemt import TITLE as HALF_SIZE
from ..evaluation.difference_text import comparison_header, comparison_notes, comparison_rows
from ..evaluation.generated import read_pieces
from ..evaluation.metrics import Metric, find_metrics
from ..evaluation.published_tests import TTest, check_t_test, sampled_tests, t_tests
from ..evaluation.significance import Comparison, paired_bootstrap
from ..evaluation.systems import System, default_metric, load_systems, sides_of
from ..evaluation.text_checks import UNSPACED
from ..figure import new_figure
from ..runs.finding import Run, is_run
from ..table import Form
from .parser import Parser, add_forms, add_plot, form_of, print_json, write_plot
from .plain_text import add_plain_text, plain_text_of


@dataclass(frozen=True)
class ComparisonReport:
    """Holds the results of ``dc-nmt compare``."""

    metric: str
    signature: str
    text: str
    notes: list[str]
    comparisons: list[Comparison]
    length_unit: str | None
    buckets: list[Bucket]
    half_size_tests: list[HalfSizeTest]
    sampled_tests: list[HalfSizeTest] = field(default_factory=list)
    pairs: int | None = None
    t_tests: list[TTest] = field(default_factory=list)


def parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    parser = Parser(
        prog="dc-nmt compare",
        description="Compare systems with a baseline: scores, differences with 95% interval and "
        f"two-sided p (paired bootstrap, {RESAMPLES:,} resamples), scores by source length.",
    )
    parser.add_argument(
        "systems", nargs="+", type=Path, metavar="BASELINE SYSTEM",
        help="run folders (RUN:NAME for a translation of dc-nmt evaluate --as NAME), records of "
        "dc-nmt score, output of fairseq-generate, or plain text of any toolkit; the first is the "
        "baseline",
    )  # fmt: skip
    parser.add_argument(
        "--names", nargs="+", metavar="NAME", help="labels; default: the names of runs and files"
    )  # fmt: skip
    parser.add_argument("--metric", help="default: the paper's of the first run, or 13a (zh: zh)")
    parser.add_argument("--reference", metavar="FILE", help="of plain text files: raw text")
    add_plain_text(parser)
    parser.add_argument(
        "--subwords", action="store_true",
        help="lengths in subword tokens, as the first run's model read its source (the thesis's)",
    )  # fmt: skip
    parser.add_argument("--buckets", metavar="LIST", help="lengths at which a new bucket begins")
    add_plot(parser, "draw the scores by length")
    parser.add_argument("--html", type=Path, metavar="FOLDER", help="compare-mt's report and test")
    parser.add_argument(
        "--pairs", type=int, metavar="N",
        help="compare-mt's test with samples of N pairs (the thesis: 1,000)",
    )  # fmt: skip
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
    edges = parse_edges("--buckets", args.buckets) if args.buckets else EDGES
    chosen = find_metrics("--metric", args.metric)[0] if args.metric else None
    systems = load_systems(args.systems, plain_text_of(args, args.reference), args.names)
    if args.subwords:
        pieces = _pieces(args)
        systems = [replace(system, source=pieces) for system in systems]
    for warning in dict.fromkeys(w for system in systems for w in system.texts.warnings):
        print(f"warning: {warning}", file=sys.stderr)
    report = compare(systems, chosen or default_metric(systems[0]), edges, args)
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
    sides = sides_of(systems, metric)
    texts = {label: side.hypotheses for label, side in sides.items()}
    first = sides[systems[0].label]
    _check(args, metric, len(systems), len(first.references))
    language = systems[0].target_lang
    _, signature = metric.score(first.hypotheses, first.references, language)
    source = next((system.source for system in systems if system.source), None)
    source_lang = args.source_lang or next(
        (system.run.record.data.source for system in systems if system.run), None
    )
    if source is None and (args.plot or args.buckets):
        raise UsageError("--source: is missing; scores by source length need it")
    buckets = []
    if source is not None:
        lengths = source_lengths(source, None if args.subwords else source_lang)
        buckets = score_buckets(texts, first.references, lengths, edges, metric, language)
    unit = "characters" if source_lang in UNSPACED else "words"
    unit = "subword tokens" if args.subwords else unit
    _progress(f"paired bootstrap of {len(texts)} systems, {len(first.references):,} sentences")
    comparisons = paired_bootstrap(texts, first.references, language, metric)
    tests = _html(args.html, metric, texts, first.references, source, language)
    sampled = []
    if args.pairs is not None:
        words, reference = _words(metric, texts, first.references, language)
        sampled = sampled_tests(words, reference, args.pairs, metric.lowercase)
    if args.plot:
        figure = new_figure()
        draw_buckets(figure, buckets, metric.name, unit)
        write_plot(figure, args.plot)
    return ComparisonReport(
        metric=metric.name,
        signature=signature,
        text=first.origin,
        notes=comparison_notes(comparisons, metric.name),
        comparisons=comparisons,
        length_unit=unit if buckets else None,
        buckets=buckets,
        half_size_tests=tests,
        sampled_tests=sampled,
        pairs=args.pairs,
        t_tests=t_tests(texts, first.references, language, metric) if args.t_test else [],
    )


def _check(args: argparse.Namespace, metric: Metric, systems: int, sentences: int) -> None:
    """Checks the options before the bootstrap, which takes minutes.

    Raises:
        UserError: a test or report does not support this metric, or this number of systems or
            sentences
    """
    if args.html:
        if not metric.is_bleu:
            raise UsageError(f"--html: compare-mt's report is of BLEU, not of {metric.name}")
        check_report(args.html, systems)
    if args.pairs is not None:
        if args.pairs < 1 or not metric.is_bleu:
            raise UsageError(f"--pairs {args.pairs}: is a number of pairs from 1 on, and of BLEU")
        check_installed()
    if args.t_test:
        check_t_test(metric, sentences)


def _pieces(args: argparse.Namespace) -> list[str]:
    """Returns the source of the first run, in subword tokens."""
    if args.source:
        raise UsageError(
            "--subwords: takes the source that the run's model read; leave --source out"
        )
    run = Run.read(args.systems[0]) if is_run(args.systems[0]) else None
    if run is None or run.decoding.kind != "generated":
        raise UserError(
            f"{args.systems[0]}: --subwords needs a run that dc-nmt evaluate has translated with"
        )
    return read_pieces(run.located(run.decoding.hypotheses) or "")


def _html(
    folder: Path | None,
    metric: Metric,
    texts: dict[str, list[str]],
    references: Sequence[str],
    source: Sequence[str] | None,
    language: str,
) -> list[HalfSizeTest]:
    """Writes compare-mt's report on the words that the metric counts."""
    if folder is None:
        return []
    words, reference = _words(metric, texts, references, language)
    return write_report(folder, words, reference, source, metric.lowercase, progress=_progress)


def _words(
    metric: Metric, texts: dict[str, list[str]], references: Sequence[str], language: str
) -> tuple[dict[str, list[str]], list[str]]:
    """Returns both sides as the metric counts them, with spaces between words."""
    tokenize = metric.make(language).tokenizer
    words = {
        name: [tokenize(line) for line in metric.prepared(lines)] for name, lines in texts.items()
    }
    return words, [tokenize(line) for line in metric.prepared(references)]


def _progress(step: str) -> None:
    print(f"dc-nmt compare: {step}", file=sys.stderr, flush=True)


def format_report(report: ComparisonReport, form: Form) -> str:
    """Returns the tables of scores, lengths and compare-mt's test, each with its title."""
    table, comment = form.write, form.comment
    header = comparison_header(report.comparisons, report.metric)
    parts = [
        table(header, comparison_rows(report.comparisons)),
        form.lines((report.signature, report.text, *report.notes)),
    ]
    if report.buckets:
        parts.append(table(*bucket_table(report.buckets, report.length_unit or "")))
        if any(None in b.scores.values() for b in report.buckets):
            parts.append(f"{comment}{NO_GROUP_SCORE}")
    if report.half_size_tests:
        rows = [
            (
                f"{t.left} / {t.right}",
                f"{t.left_wins:.3f}",
                f"{t.right_wins:.3f}",
                f"{t.p_value:.3f}",
            )
            for t in report.half_size_tests
        ]
        parts.append(table(("systems", "first wins", "second wins", "p"), rows))
        parts.append(f"{comment}{HALF_SIZE}, {COMPARE_MT_RESAMPLES:,} samples, seed {SEED}")
    if report.sampled_tests:
        wins = [(t.right, f"{t.right_wins:.3f}", f"{t.p_value:.3f}") for t in report.sampled_tests]
        parts.append(table((f"samples of {report.pairs:,} pairs", "wins", "p"), wins))
        parts.append(
            f"{comment}compare-mt's test, {COMPARE_MT_RESAMPLES:,} samples, one-sided, seed {SEED}"
        )
    if report.t_tests:
        found = [(t.name, f"{t.t:.2f}", f"{t.p_value:.4f}") for t in report.t_tests]
        parts.append(table(("one-tailed paired t-test", "t", "p"), found))
        parts.append(f"{comment}over sentence BLEU, add-one smoothed from bigrams on")
    return "\n\n".join(parts)
