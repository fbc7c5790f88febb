"""``dc-nmt score``: score what fairseq-generate printed against the raw reference."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ..corpus.checks import read_lines
from ..corpus.pieces import join_line
from ..errors import UserError
from ..files import replacing, write_lines
from .generated import detokenize, read_generated
from .logs import read_training_log
from .results import Result, format_results
from .scores import score_text


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt score``: score what fairseq-generate printed against the raw reference."""
    parser = argparse.ArgumentParser(
        prog="dc-nmt score",
        description="Score the output of fairseq-generate against the raw reference: "
        "BPE removed, detokenised, sacreBLEU with its signature.",
    )
    parser.add_argument("--generated", required=True, type=Path, metavar="FILE")
    parser.add_argument(
        "--generate-log", type=Path, metavar="FILE", help="its log, where the speed is only there"
    )
    parser.add_argument("--reference", required=True, type=Path, help="raw text, one a line")
    parser.add_argument("--source", type=Path, help="raw text, for the examples of dc-nmt report")
    parser.add_argument("--source-lang", required=True, metavar="LANG")
    parser.add_argument("--target-lang", required=True, metavar="LANG")
    parser.add_argument(
        "--tokenizer",
        choices=("moses", "split", "none"),
        default="none",
        help="what the text was tokenised with before BPE, to be undone",
    )
    parser.add_argument("--train-log", type=Path, help="of fairseq-train --log-format json")
    parser.add_argument("--name", default="model", help="the row's name in the table")
    parser.add_argument("--hypotheses", type=Path, metavar="OUT", help="write detokenised text")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result here")
    args = parser.parse_args(argv)
    result = _score(args)
    if args.json:
        with replacing(args.json) as temporary:
            temporary.write_text(json.dumps(result.to_json(), indent=2) + "\n", "utf-8")
    print(format_results([result]))
    return 0


def _score(args: argparse.Namespace) -> Result:
    generated = read_generated(args.generated, args.generate_log)
    hypotheses = generated.hypotheses
    if args.tokenizer == "moses":
        hypotheses = detokenize(hypotheses, args.target_lang)
    elif args.tokenizer == "split":
        hypotheses = [join_line(line) for line in hypotheses]
    try:
        scores = score_text(hypotheses, read_lines(args.reference), args.target_lang)
    except UserError as error:
        raise UserError(f"{args.generated} against {args.reference}: {error}") from error
    log = read_training_log(args.train_log) if args.train_log else None
    if args.hypotheses:
        write_lines(args.hypotheses, hypotheses)
    return Result(
        name=args.name,
        source_lang=args.source_lang,
        target_lang=args.target_lang,
        sentences=len(hypotheses),
        parameters=log.parameters if log else None,
        updates=log.updates if log else None,
        train_tokens_per_second=log.tokens_per_second if log else None,
        train_seconds=log.train_seconds if log else None,
        decode_sentences_per_second=generated.sentences_per_second,
        hypotheses=str(args.hypotheses) if args.hypotheses else None,
        reference=str(args.reference),
        source=str(args.source) if args.source else None,
        **asdict(scores),
    )
