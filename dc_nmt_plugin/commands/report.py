"""``dc-nmt report``: results side by side."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..evaluation.results import Result, format_examples, format_results, read_result
from ..evaluation.significance import format_comparisons, paired_bootstrap
from ..evaluation.systems import Given, load_systems, named_labels


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt report``: results side by side."""
    parser = argparse.ArgumentParser(
        prog="dc-nmt report", description="Compare results written by dc-nmt score --json."
    )
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULT.json")
    parser.add_argument("--examples", type=int, default=3, metavar="N", help="0 for none")
    parser.add_argument("--json", action="store_true", help="print one JSON array instead")
    args = parser.parse_args(argv)
    results = _named(args.results)
    names = [result.name for result in results]
    with_text = all(result.texts or result.hypotheses for result in results)
    systems = load_systems(args.results, Given(), names) if with_text else []
    if args.json:
        print(json.dumps([result.to_json() for result in results], indent=2))
        return 0
    print(format_results(results))
    if not systems:
        return 0
    texts = {system.label: system.texts.raw.hypotheses for system in systems}
    raw, language = systems[0].texts.raw, systems[0].target_lang
    if len(texts) > 1:
        print("\n" + format_comparisons(paired_bootstrap(texts, raw.references, language)))
    if args.examples > 0:
        source = systems[0].source or []
        print("\n" + format_examples(texts, raw.references, source, args.examples))
    return 0


def _named(paths: Sequence[Path]) -> list[Result]:
    """Results by their own names, or by their folders where two have the same name."""
    results = [read_result(path) for path in paths]
    names = named_labels(paths, results)
    return [replace(result, name=name) for result, name in zip(results, names, strict=True)]
