"""``dc-nmt translate``: raw text in, plain translations out, by a trained run."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from ...errors import notify
from ...text.lines import decoded, read_lines
from ..raw_text.checks import scan_lines
from ..raw_text.tokenizers import TOKENIZERS
from .parser import Parser, add_ensemble, add_user_dir, number

BUFFER = 1000  # lines at once, translated shortest first, which wastes less padding


def main(argv: Sequence[str]) -> int:
    args, flags = _parse(argv)
    terminal = args.file == "-" and not args.sentence and sys.stdin.isatty()
    lines = iter(args.sentence or _lines(args.file))

    from ..inference.loaded_run import LoadedRun

    run = LoadedRun(
        args.run, args.data, args.tokenizer, flags, args.bpe_codes, ensemble=args.ensemble
    )
    if terminal:
        pair = f"{run.source} to {run.target}"
        notify(f"{run.checkpoint}: {pair}, a sentence a line; Ctrl-D ends")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # UTF-8 as the input, in every locale
    size = args.buffer_size or (1 if terminal else BUFFER)
    first = 1
    while buffer := list(islice(lines, size)):
        _name_entities(args.file, buffer, first)
        for translation in run.translate(buffer, first):
            text = json.dumps(asdict(translation), ensure_ascii=False)
            print(text if args.json else translation.hypothesis)
        sys.stdout.flush()
        first += len(buffer)
    return 0


def _name_entities(file: str, lines: Sequence[str], first: int) -> None:
    """Names HTML entities in the first lines: the tokeniser takes them apart."""
    findings = scan_lines(file, lines).findings if first == 1 else []
    for finding in findings:
        if finding.kind == "entities":
            notify(finding)


def _parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = Parser(
        prog="dc-nmt translate",
        usage="dc-nmt translate RUN [FILE] [options] [flags of fairseq-generate]",
        description="Translates text with a trained run, one output line for each input line. "
        "The lines are prepared and translated like the test set of the run, and the output is "
        "joined and detokenised.",
        epilog="All other flags go to fairseq-generate: --beam, --lenpen, --cpu, --decode-with … "
        "They override those of the run's evaluation or recipe.",
    )
    add = parser.add_argument
    add(
        "run",
        type=Path,
        metavar="RUN",
        help="folder of a run (its averaged checkpoint, else the best, else the last), or a "
        "checkpoint in it",
    )
    add(
        "file",
        nargs="?",
        default="-",
        metavar="FILE",
        help="raw text in UTF-8, one sentence per line, plain or packed; default: standard input",
    )
    add(
        "--sentence",
        action="append",
        default=[],
        metavar="TEXT",
        help="translate this sentence instead of FILE; may be repeated",
    )
    add(
        "--json",
        action="store_true",
        help="print one JSON object per line: source, hypothesis, score (log2-probability per "
        "token)",
    )
    add(
        "--data",
        type=Path,
        metavar="DIR",
        help="folder made by fairseq-preprocess; default: that of the run",
    )
    add(
        "--tokenizer",
        choices=TOKENIZERS,
        help="tokenizer for the lines, undone in the output; default: that of the run",
    )
    add(
        "--bpe-codes",
        type=Path,
        metavar="FILE",
        help="codes of subword-nmt, or sentencepiece's model, for the lines; default: those beside "
        "the data",
    )
    add(
        "--buffer-size",
        type=number(1),
        metavar="N",
        help=f"translate N lines at once; default {BUFFER}, in a terminal 1. A program that writes "
        "a line and waits for its translation needs 1",
    )
    add_ensemble(parser)
    add_user_dir(parser)
    return parser.parse_with_flags(argv)


def _lines(file: str) -> Iterable[str]:
    """Returns the lines of a file, or of standard input as they arrive."""
    if file == "-":
        return decoded(sys.stdin.buffer, "standard input")
    return read_lines(file, fix=True)
