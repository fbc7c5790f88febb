"""``dc-nmt score``: every number that papers print for a translation, each with its signature."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ...errors import counted, notify, printable
from ...runs.record import Decoding, Record
from ...text.languages import language
from ..evaluation.metrics import METRICS, find_metrics
from ..steps import stamp_of
from ..table import format_table
from .parser import Parser, add_json, add_plain_text, folder_name, print_json, values_of

HELP = {
    "file": "output of fairseq-generate, or plain text of any toolkit, one sentence a line; every "
    "file may be packed",
    "--metrics": "metrics, separated by commas; default: all that papers use for the language",
    "--out": "enter the scores into the record of a run, RUN/run.json, or write a new record",
    "--as": "name of this translation in --out, as of dc-nmt evaluate --as",
    "--subset": "translated set; default: the set that the output of fairseq-generate names, or "
    "test",
}


def parser() -> Parser:
    metrics = [f"  {metric.name:<20}{metric.about}" for metric in METRICS.values()]
    parser = Parser(
        prog="dc-nmt score",
        description="Scores a translation with sacreBLEU.",
        epilog="\n".join(["metrics:", *metrics]),
        formatter_class=argparse.RawDescriptionHelpFormatter,  # the epilog is a table
    )
    parser.add_argument("file", type=Path, metavar="FILE", help=HELP["file"])
    parser.add_argument(
        "--generate-log", type=Path, metavar="FILE", help="its log, where the speed is only there"
    )
    parser.add_argument("--reference", metavar="FILE", help="raw text, one sentence a line")
    add_plain_text(parser)
    parser.add_argument("--source", metavar="FILE", help="raw text, for the record")
    parser.add_argument("--source-lang", type=language, metavar="LANG", help="for the record")
    parser.add_argument("--metrics", metavar="LIST", help=HELP["--metrics"])
    marked = parser.add_mutually_exclusive_group()
    marked.add_argument("--paper", metavar="METRIC", help="mark this one as the paper's")
    marked.add_argument(
        "--main", metavar="METRIC", help="mark this one as the main score of your own text"
    )
    parser.add_argument(
        "--name", help="the row's name in tables; default: of the folder or file of --out"
    )
    parser.add_argument(
        "--detokenized", type=Path, metavar="FILE", help="write the detokenised hypotheses"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help=HELP["--out"])
    parser.add_argument(
        "--as", dest="decoding", type=folder_name, metavar="NAME", help=HELP["--as"]
    )
    parser.add_argument("--subset", type=folder_name, metavar="SET", help=HELP["--subset"])
    add_json(parser)
    return parser


def main(argv: Sequence[str]) -> int:
    args = parser().parse_args(argv)
    metrics = find_metrics("--metrics", args.metrics) if args.metrics is not None else None
    from ..evaluation.scoring import ScoreOptions, score_translation
    from ..evaluation.systems import PlainTextOptions, files_of_text

    files = files_of_text(args.file, values_of(PlainTextOptions, args))
    stamp = stamp_of(list(argv)) if args.out else None  # dc-nmt evaluate asks whether it is done
    record, decoding, warnings = score_translation(
        values_of(ScoreOptions, args, files=files, metrics=metrics, stamp=stamp)
    )
    for warning in warnings:
        notify(f"warning: {warning}")
    if args.json:
        print_json(asdict(record))
    else:
        print(_format_scores(args, record, decoding))
    return 0


def _format_scores(args: argparse.Namespace, record: Record, decoding: Decoding) -> str:
    """Returns a row for each metric: score, mark of one, signature, processing of the text."""
    mark = "main" if args.main else "the paper's"
    rows = [
        (s.metric, f"{s.value:.2f}", mark if s.paper else "", s.signature, s.text)
        for s in decoding.scores
    ]
    sentences = counted(decoding.sentences or 0, "sentence")
    title = f"{printable(record.name)}: {sentences}, target language {record.data.target}"
    table = format_table(("metric", "score", "mark", "signature", "text"), rows)
    return f"{title}\n\n{table}"
