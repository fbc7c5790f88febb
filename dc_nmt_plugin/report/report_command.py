"""``dc-nmt report``: results side by side."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from ..corpus.checks import read_lines
from ..errors import UserError
from .results import Result, format_examples, format_results
from .significance import format_comparisons, paired_bootstrap


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt report``: results side by side."""
    parser = argparse.ArgumentParser(
        prog="dc-nmt report", description="Compare results written by dc-nmt score --json."
    )
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULT.json")
    parser.add_argument("--examples", type=int, default=3, metavar="N", help="0 for none")
    parser.add_argument("--json", action="store_true", help="print one JSON array instead")
    args = parser.parse_args(argv)
    results = [_read_result(path) for path in args.results]
    references = {result.reference for result in results}
    if len(references) > 1:
        raise UserError("results on different tests: " + ", ".join(sorted(references)))
    if args.json:
        print(json.dumps([result.to_json() for result in results], indent=2))
        return 0
    print(format_results(results))
    texts = {r.name: read_lines(r.hypotheses) for r in results if r.hypotheses}
    if len(texts) > 1:
        lines = read_lines(results[0].reference)
        comparisons = paired_bootstrap(texts, lines, results[0].target_lang)
        print("\n" + format_comparisons(next(iter(texts)), comparisons))
    if texts and args.examples > 0:
        source = read_lines(results[0].source) if results[0].source else []
        reference = read_lines(results[0].reference)
        print("\n" + format_examples(texts, reference, source, args.examples))
    return 0


def _read_result(path: Path) -> Result:
    try:
        values = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{path}: not JSON: {error}") from error
    return Result.from_json(values, path)
