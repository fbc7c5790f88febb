"""``dc-nmt score``: every number that papers print for a translation, each with its signature."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..errors import UserError
from ..evaluation.comet import score_comet
from ..evaluation.generated import check_free_log, read_generated
from ..evaluation.logs import read_decoder, read_training_log
from ..evaluation.metrics import GROUPS, METRICS, check_names, find_metrics, in_groups
from ..evaluation.results import UNNAMED, Result
from ..evaluation.scores import score_metrics
from ..evaluation.texts import TextFiles, load_texts
from ..files import replacing, write_lines
from ..table import format_table, latex_table
from ..text.languages import language
from ..text.lines import read_lines
from ..text.tokenizers import TOKENIZERS
from .parser import Parser, RawWithDefaults


def parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    parser = Parser(
        prog="dc-nmt score",
        description="Score the output of fairseq-generate, or plain text, with sacreBLEU.",
        formatter_class=RawWithDefaults,
        epilog=_epilog(),
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--generated", type=Path, metavar="FILE",
        help="output of fairseq-generate; every file may be gzipped, this one - (standard input)",
    )  # fmt: skip
    what.add_argument(
        "--hypothesis", type=Path, metavar="FILE", help="plain text, one sentence a line; or -"
    )
    parser.add_argument(
        "--tokenized", action="store_true", help="--hypothesis is tokenised, without BPE"
    )
    parser.add_argument(
        "--generate-log", type=Path, metavar="FILE", help="its log, where the speed is only there"
    )
    parser.add_argument(
        "--reference", type=Path, action="append", default=[],
        help="raw text, one a line; give it again for each further reference",
    )  # fmt: skip
    parser.add_argument(
        "--tokenized-reference",
        type=Path,
        metavar="FILE",
        help="tokenised like the training text, without BPE; default: --reference by --tokenizer",
    )
    parser.add_argument("--source", type=Path, help="raw text, for dc-nmt report and compare")
    parser.add_argument("--source-lang", type=language, metavar="LANG")
    parser.add_argument("--target-lang", type=language, required=True, metavar="LANG")
    parser.add_argument(
        "--tokenizer",
        choices=TOKENIZERS,
        default="none",
        help="tokeniser of the text before BPE; moses-a splits hyphens to ' @-@ ', "
        "moses-no-escape leaves ' and & as they are",
    )
    parser.add_argument(
        "--truecased",
        action="store_true",
        help="the tokenised text of both sides is: capitalise sentences in the detokenised text",
    )
    parser.add_argument("--metrics", metavar="LIST", help="metrics and groups, separated by commas")
    parser.add_argument(
        "--comet-model", metavar="MODEL",
        help="adds COMET, which needs --source: a checkpoint, its folder, or a name on Hugging "
        "Face's hub; nothing is downloaded",
    )  # fmt: skip
    parser.add_argument(
        "--comet-download", action="store_true", help="download the model if it is not here"
    )
    parser.add_argument("--paper", metavar="METRIC", help="mark this one as the paper's")
    parser.add_argument("--train-log", type=Path, help="of fairseq-train --log-format json")
    parser.add_argument("--name", default=UNNAMED, help="the row's name in tables")
    parser.add_argument("--hypotheses", type=Path, metavar="OUT", help="write detokenised text")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result here")
    parser.add_argument("--latex", action="store_true", help="print LaTeX")
    parser.set_defaults(piped=False)
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
    if args.tokenized and not args.hypothesis:
        options.error("--tokenized goes with --hypothesis; --generated is tokenised text")
    if args.truecased and args.hypothesis and not args.tokenized:
        options.error("--truecased goes with --generated, or with --hypothesis and --tokenized")
    if len(args.reference) > 1 and (args.tokenized_reference or args.comet_model):
        other = "--tokenized-reference" if args.tokenized_reference else "--comet-model"
        options.error(f"--reference: {other} goes with one reference alone")
    if args.comet_model and not args.source:
        options.error("--comet-model needs --source")
    if args.generate_log and not args.generated:
        options.error("--generate-log goes with --generated")
    if args.comet_download and not args.comet_model:
        options.error("--comet-download goes with --comet-model")
    with _standard_input(args):
        result, warnings = _score(args)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if args.json:
        with replacing(args.json) as temporary:
            temporary.write_text(json.dumps(result.to_json(), indent=2) + "\n", "utf-8")
    print(format_scores(result, latex=args.latex))
    return 0


@contextmanager
def _standard_input(args: argparse.Namespace) -> Iterator[None]:
    """Writes standard input to a file, because it is read more than once."""
    flag = "generated" if args.generated else "hypothesis"
    if str(getattr(args, flag)) != "-":
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "standard-input"
        path.write_bytes(sys.stdin.buffer.read())
        setattr(args, flag, path)
        args.piped = True
        yield


def format_scores(result: Result, latex: bool = False) -> str:
    """Returns a row for each metric: score, the paper's mark, signature, processing of the text."""
    rows = [
        (s.metric, f"{s.score:.2f}", "the paper's" if s.paper else "", s.signature, s.text)
        for s in result.scores
    ]
    if latex:
        return latex_table(("metric", "score", "", "signature", "text"), rows)
    title = f"{result.name}: {result.sentences:,} sentences, target language {result.target_lang}"
    return f"{title}\n\n{format_table(('metric', 'score', '', '', ''), rows)}"


def _score(args: argparse.Namespace) -> tuple[Result, list[str]]:
    paper = find_metrics("--paper", args.paper)[0] if args.paper else None
    check_names("--metrics", args.metrics or "")
    files = TextFiles(
        hypotheses=str(args.generated or args.hypothesis),
        kind="generated" if args.generated else "tokenized" if args.tokenized else "raw",
        target_lang=args.target_lang,
        tokenizer=args.tokenizer,
        reference=str(args.reference[0]) if args.reference else None,
        more_references=list(map(str, args.reference[1:])),
        tokenized_reference=str(args.tokenized_reference) if args.tokenized_reference else None,
        truecased=args.truecased,
    )
    if args.generate_log:
        check_free_log(args.generate_log)
    texts = load_texts(files)
    source = read_lines(args.source) if args.source else []
    if args.source and len(source) != len(texts.raw.hypotheses):
        raise UserError(
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
        raise UserError("--metrics: comet needs --comet-model and --source")
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
    generated = read_generated(args.generated, args.generate_log) if args.generated else None
    log = read_training_log(args.train_log) if args.train_log else None
    if args.hypotheses:
        write_lines(args.hypotheses, texts.raw.hypotheses)
    given = args.hypothesis if files.kind == "raw" and not args.piped else None
    hypotheses = args.hypotheses or given
    result = Result(
        name=args.name,
        source_lang=args.source_lang,
        target_lang=args.target_lang,
        sentences=len(texts.raw.hypotheses),
        parameters=log.parameters if log else None,
        updates=log.updates if log else None,
        train_tokens_per_second=log.tokens_per_second if log else None,
        train_seconds=log.train_seconds if log else None,
        decode_sentences_per_second=generated.sentences_per_second if generated else None,
        hypotheses=str(hypotheses) if hypotheses else None,
        reference=files.reference,
        source=str(args.source) if args.source else None,
        arch=log.arch if log else None,
        decode_with=read_decoder(args.generate_log or args.generated) if args.generated else None,
        scores=tuple(scores),
        texts=None if args.piped else files,
    )
    return result, texts.warnings
