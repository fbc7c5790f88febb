"""``dc-nmt score``: every number that papers print for a translation, each with its signature."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from ..errors import UsageError, UserError
from ..evaluation.comet import score_comet
from ..evaluation.generated import is_generated, read_generated
from ..evaluation.metrics import GROUPS, METRICS, check_names, find_metrics, in_groups
from ..evaluation.scores import score_metrics
from ..evaluation.texts import TextFiles, load_texts
from ..files import write_lines
from ..runs.finding import is_run
from ..runs.records import with_decoding, write_record
from ..runs.schema import Decoding, Record
from ..table import format_table, latex_table
from ..text.lines import read_lines
from .parser import Parser, add_forms, print_json
from .plain_text import add_plain_text
from .score_record import decoding_of_score, record_of_score
from .score_systems import score_systems


def parser() -> Parser:
    """Returns the options of the command."""
    parser = Parser(
        prog="dc-nmt score",
        description="Scores a translation with sacreBLEU.",
        epilog=_epilog(),
    )
    parser.add_argument(
        "systems", nargs="+", type=Path, metavar="SYSTEM",
        help="output of fairseq-generate, plain text of any toolkit (one sentence a line), or the "
        "folder of a run. Every file may be gzipped; a single one may be - (standard input). "
        "Several systems get a row each",
    )  # fmt: skip
    parser.add_argument(
        "--generate-log", type=Path, metavar="FILE", help="its log, where the speed is only there"
    )
    parser.add_argument(
        "--reference", type=Path, action="append", default=[],
        help="raw text, one a line; give it again for each further reference",
    )  # fmt: skip
    add_plain_text(parser)
    parser.add_argument("--metrics", metavar="LIST", help="metrics and groups, separated by commas")
    parser.add_argument(
        "--comet-model", metavar="MODEL",
        help="adds COMET, which needs --source: a checkpoint, its folder, or a name on Hugging "
        "Face's hub; nothing is downloaded",
    )  # fmt: skip
    parser.add_argument(
        "--comet-download", action="store_true", help="download the model if it is not here"
    )
    marked = parser.add_mutually_exclusive_group()
    marked.add_argument("--paper", metavar="METRIC", help="mark this one as the paper's")
    marked.add_argument(
        "--main", metavar="METRIC", help="mark this one as the main score of your own text"
    )
    parser.add_argument("--train-log", type=Path, help="of fairseq-train --log-format json")
    parser.add_argument(
        "--name", help="the row's name in tables; default: of the folder or file of --out"
    )
    parser.add_argument(
        "--detokenized", type=Path, metavar="FILE", help="write the detokenised hypotheses"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE",
        help="write the record of the run here; a run.json that is there keeps its other facts",
    )  # fmt: skip
    parser.add_argument(
        "--as", dest="decoding", default="", metavar="NAME",
        help="name of this translation in --out, as of dc-nmt evaluate --as",
    )  # fmt: skip
    parser.add_argument(
        "--subset", metavar="SET",
        help="translated set; default: the set that the output of fairseq-generate names, or test",
    )  # fmt: skip
    add_forms(parser, "latex")
    parser.set_defaults(piped=False, generated=None, hypothesis=None)
    return parser


def _epilog() -> str:
    comet = ("comet", "COMET times 100, with --comet-model")
    metrics = [*((m.name, m.about) for m in METRICS.values()), comet]
    lines = [
        "metrics:", *(f"  {name:<20}{about}" for name, about in metrics),
        "groups:", *(f"  {name:<20}{about}" for name, about in GROUPS.items()),
    ]  # fmt: skip
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt score``: score a translation against its reference."""
    options = parser()
    args = options.parse_args(argv)
    if len(args.reference) > 1 and (args.tokenized_reference or args.comet_model):
        other = "--tokenized-reference" if args.tokenized_reference else "--comet-model"
        options.error(f"--reference: {other} goes with one reference alone")
    if args.comet_model and not args.source:
        options.error("--comet-model needs --source")
    if args.comet_download and not args.comet_model:
        options.error("--comet-download goes with --comet-model")
    check_names(args.metrics or "")
    if len(args.systems) > 1 or is_run(args.systems[0]):
        return score_systems(options, args)
    (path,) = args.systems
    if str(path) != "-" and not path.exists():
        raise UserError(f"{path}: no such run or file")
    if args.target_lang is None:
        options.error("--target-lang: is missing; name the language of the hypotheses")
    with _standard_input(args) as file:
        kind = "generated" if is_generated(file) else "hypothesis"
        setattr(args, kind, file)
        _check_kind(options, args)
        record, decoding, warnings = _score(args)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if args.out:
        write_record(args.out, record)
    if args.json:
        print_json(asdict(record))
    else:
        mark = "main" if args.main else "the paper's"
        print(format_scores(record, decoding, mark, latex=args.latex))
    return 0


def _check_kind(options: Parser, args: argparse.Namespace) -> None:
    """Refuses options that have no effect on this kind of file."""
    if args.tokenized and args.generated:
        options.error("--tokenized: goes with plain text, not with output of fairseq-generate")
    if args.truecased and args.hypothesis and not args.tokenized:
        options.error("--truecased: goes with output of fairseq-generate, or with --tokenized")
    if args.generate_log and not args.generated:
        options.error("--generate-log: goes with output of fairseq-generate, not with plain text")


@contextmanager
def _standard_input(args: argparse.Namespace) -> Iterator[Path]:
    """Yields the file; standard input becomes one, because it is read more than once."""
    (file,) = args.systems
    if str(file) != "-":
        yield file
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "standard-input"
        path.write_bytes(sys.stdin.buffer.read())
        args.piped = True
        yield path


def format_scores(record: Record, decoding: Decoding, mark: str, latex: bool = False) -> str:
    """Returns a row for each metric: score, mark of one, signature, processing of the text."""
    rows = [
        (s.metric, f"{s.value:.2f}", mark if s.paper else "", s.signature, s.text)
        for s in decoding.scores
    ]
    if latex:
        return latex_table(("metric", "score", "", "signature", "text"), rows)
    title = f"{record.name}: {decoding.sentences:,} sentences, target language {record.data.target}"
    return f"{title}\n\n{format_table(('metric', 'score', '', '', ''), rows)}"


def _score(args: argparse.Namespace) -> tuple[Record, Decoding, list[str]]:
    flag, marked = ("--main", args.main) if args.main else ("--paper", args.paper)
    paper = find_metrics(flag, marked)[0] if marked else None
    files = TextFiles(
        hypotheses=str(args.generated or args.hypothesis),
        kind="generated" if args.generated else "tokenized" if args.tokenized else "raw",
        target_lang=args.target_lang,
        tokenizer=args.tokenizer or "none",
        reference=str(args.reference[0]) if args.reference else None,
        more_references=list(map(str, args.reference[1:])),
        tokenized_reference=args.tokenized_reference,
        truecased=args.truecased,
    )
    generated = read_generated(args.generated, args.generate_log) if args.generated else None
    texts = load_texts(files)
    source = read_lines(args.source) if args.source else []
    if args.source and len(source) != len(texts.raw.hypotheses):
        raise UsageError(
            f"--source {args.source}: {len(source)} lines for {len(texts.raw.hypotheses)} "
            "hypotheses"
        )
    wanted = args.metrics if args.metrics is not None else "default"
    if args.comet_model:
        wanted = f"{wanted},comet"
    names = in_groups(
        wanted, args.target_lang, texts.tokenized is not None,
        comet=args.comet_model is not None, references=texts.raw.references,
    )  # fmt: skip
    if "comet" in names and not args.comet_model:
        raise UsageError("--metrics: comet needs --comet-model and --source")
    strings = [name for name in names if name != "comet"]
    metrics = find_metrics("--metrics", ",".join(strings)) if strings or not names else []
    if paper and paper not in metrics:
        metrics.append(paper)
    scores = score_metrics(texts, metrics, args.target_lang, paper)
    if "comet" in names:
        scores.append(
            score_comet(
                texts.raw.hypotheses,
                texts.raw.references,
                source,
                args.comet_model,
                args.comet_download,
            )
        )
    if args.detokenized:
        write_lines(args.detokenized, texts.raw.hypotheses)
    record = record_of_score(args)
    decoding = decoding_of_score(args, record, files, generated)
    decoding = replace(decoding, sentences=len(texts.raw.hypotheses), scores=tuple(scores))
    return with_decoding(record, decoding), decoding, texts.warnings
