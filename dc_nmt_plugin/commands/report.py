"""``dc-nmt report``: prints the same as ``dc-nmt results --examples``, for given result files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ..evaluation.side_by_side import format_side_by_side, read_named
from .parser import Parser


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt report``: results side by side."""
    parser = Parser(
        prog="dc-nmt report", description="Shows results of dc-nmt score --json side by side."
    )
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULT.json")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--examples", type=int, default=3, metavar="N", help="number of example sentences; 0: none"
    )
    form.add_argument("--json", action="store_true", help="print one JSON array instead")
    args = parser.parse_args(argv)
    if args.json:
        print(json.dumps([result.to_json() for result in read_named(args.results)], indent=2))
    else:
        print(format_side_by_side(args.results, args.examples))
    return 0
