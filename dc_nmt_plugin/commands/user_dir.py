"""``dc-nmt user-dir``: prints the path of this package."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .parser import Parser, add_json, print_report


def user_dir() -> str:
    """Returns the absolute path for ``--user-dir``, of an installation or a checkout."""
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main(argv: Sequence[str]) -> int:
    """Prints the path."""
    parser = Parser(prog="dc-nmt user-dir", description=__doc__)
    add_json(parser)
    args = parser.parse_args(argv)
    print_report({"user_dir": user_dir()}, args.json, lambda facts: facts["user_dir"])
    return 0
